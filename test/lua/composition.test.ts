import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { existsSync } from 'node:fs';
import { ALGORITHM_NAMES, ALGORITHMS } from '../../lib/algorithms/registry.js';
import { loadScripts, type Script } from '../../lib/stores/redis/scripts.js';
import { luaFiles, ROOT } from '../support/lua-files.js';
import { openRedis } from '../support/services.js';

const { decideOne, ...rest } = loadScripts();
const scripts: readonly Script[] = [...Object.values(decideOne), ...Object.values(rest)];
const files = luaFiles();

const KEYWORDS = new Set(
  (
    'and break do else elseif end false for function if in local nil not or repeat return then ' +
    'true until while'
  ).split(' '),
);

/** What Redis gives every script, as far as ours use it. */
const GLOBALS = new Set(
  'KEYS ARGV redis struct math string table error pcall tonumber tostring type unpack'.split(' '),
);

interface Token {
  readonly text: string;
  readonly depth: number;
}

/** Names and signs, without comments and the content of strings; `depth` counts open braces. */
function tokensOf(source: string): Token[] {
  const pattern =
    /--\[\[[^]*?\]\]|--[^\n]*|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|\d[\w.]*|==|~=|<=|>=|\.\.\.?|\S/g;
  const tokens: Token[] = [];
  let depth = 0;
  for (const [text] of source.matchAll(pattern)) {
    if (text.startsWith('--')) continue;
    if (text === '{') depth++;
    if (text === '}') depth--;
    tokens.push({ text: /^['"]/.test(text) ? "''" : text, depth });
  }
  return tokens;
}

/** Every name declared by local, by a parameter or by a loop, wherever it holds. */
function declaredIn(tokens: readonly Token[]): Set<string> {
  const names = new Set<string>();
  const list = (from: number) => {
    let i = from;
    for (; /^[A-Za-z_]/.test(tokens[i]!.text); i += 2) {
      names.add(tokens[i]!.text);
      if (tokens[i + 1]!.text !== ',') break;
    }
  };
  for (const [i, { text }] of tokens.entries()) {
    if (text === 'local') list(tokens[i + 1]!.text === 'function' ? i + 2 : i + 1);
    if (text === 'for') list(i + 1);
    if (text === 'function') {
      let open = i + 1;
      while (tokens[open]!.text !== '(') open++;
      list(open + 1);
    }
  }
  return names;
}

/** Names that are used and declared nowhere: Redis refuses them only when the line runs. */
function undeclared(source: string, known: ReadonlySet<string> = new Set()): string[] {
  const tokens = tokensOf(source);
  const declared = declaredIn(tokens);
  const unknown = tokens.filter(({ text, depth }, i) => {
    if (!/^[A-Za-z_]/.test(text) || KEYWORDS.has(text)) return false;
    const before = tokens[i - 1]?.text;
    if (before === '.' || before === ':') return false;
    // A field's name in a table.
    if (depth > 0 && tokens[i + 1]?.text === '=' && (before === '{' || before === ','))
      return false;
    return !declared.has(text) && !known.has(text) && !GLOBALS.has(text);
  });
  return [...new Set(unknown.map(({ text }) => text))];
}

const sourceOf = (path: string) => files.find((file) => file.path === path)!.source;

describe('composed scripts', () => {
  let redis: Redis;

  beforeAll(() => {
    redis = openRedis();
  });
  afterAll(() => redis.disconnect());

  it.each(scripts.map((script) => [script.name, script] as const))(
    '%s loads, under the hash that it is called by',
    async (_, script) => {
      expect(await redis.script('LOAD', script.source)).toBe(script.sha);
    },
  );

  it.each(scripts.map((script) => [script.name, script] as const))(
    '%s uses no undeclared name',
    (_, script) => {
      expect(undeclared(script.source)).toEqual([]);
    },
  );

  it('are eight, and hold every file of lua/', () => {
    expect(scripts).toHaveLength(ALGORITHM_NAMES.length + 3);
    expect(new Set(scripts.map(({ sha }) => sha)).size).toBe(scripts.length);
    for (const { path, source } of files) {
      expect([path, scripts.some((script) => script.source.includes(source))]).toEqual([
        path,
        true,
      ]);
    }
  });

  it.each(
    files
      .map(({ path }) => path)
      .filter((path) => /^(algorithms|counters)\/|^(packed|slices)\.lua/.test(path)),
  )('%s uses only its own names and those it is given', (path) => {
    const given = ['prelude.lua', 'packed.lua', 'slices.lua'].filter((one) => one !== path);
    const names = given.flatMap((one) => [...declaredIn(tokensOf(sourceOf(one)))]);
    expect(undeclared(sourceOf(path), new Set(names))).toEqual([]);
  });

  it.each(
    files.filter(({ path }) => /^(algorithms|counters)\//.test(path)).map(({ path }) => path),
  )('%s declares nothing but what bears its name', (path) => {
    const prefix = path.replace(/^.*\/|\.lua$/g, '').replaceAll('-', '_');
    const top = [...sourceOf(path).matchAll(/^local (?:function )?(\w+)/gm)].map(
      ([, name]) => name,
    );
    expect(top.length).toBeGreaterThan(0);
    for (const name of top) expect(name!.toLowerCase().startsWith(prefix)).toBe(true);
  });

  it('the search for undeclared names finds one', () => {
    expect(undeclared('local a = 1\nlocal t = { b = a }\nreturn a + c + t.d')).toEqual(['c']);
    expect(undeclared("local function f(x) y = x return 'z' end return f")).toEqual(['y']);
    expect(undeclared('for i = 1, 2 do g(i) end -- h')).toEqual(['g']);
  });
});

describe('every algorithm of the registry', () => {
  it.each(ALGORITHM_NAMES)('%s has its files in every place', (name) => {
    expect(ALGORITHMS[name].name).toBe(name);
    for (const path of [
      `lib/algorithms/${name}.ts`,
      `lua/algorithms/${name}.lua`,
      `test/differential/${name}.test.ts`,
    ]) {
      expect([path, existsSync(ROOT + path)]).toEqual([path, true]);
    }
  });

  it('and no algorithm in lua/ is missing from it', () => {
    const written = files.filter(({ path }) => path.startsWith('algorithms/'));
    expect(written.map(({ path }) => path)).toEqual(
      ALGORITHM_NAMES.map((name) => `algorithms/${name}.lua`).sort(),
    );
  });
});
