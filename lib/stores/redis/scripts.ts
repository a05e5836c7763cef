import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { ALGORITHM_NAMES } from '../../algorithms/registry.js';
import { configError } from '../../errors.js';
import type { AlgorithmName } from '../../rules/rule.js';

/** A script as the server gets it. */
export interface Script {
  readonly name: string;
  readonly source: string;
  readonly sha: string;
}

/** Every script the library runs, composed once from the files in lua/ (see lua/README.md). */
export interface Scripts {
  /** Decisions with one state each. */
  readonly decideOne: Readonly<Record<AlgorithmName, Script>>;
  /** Decisions over several states. */
  readonly decideAll: Script;
  /** Refund, block and reset. */
  readonly amend: Script;
  /** Counters. */
  readonly count: Script;
}

/** What an algorithm's file declares, each name after its own. */
const PARTS = ['width', 'check', 'commit', 'repair', 'refund', 'block'];

/** What fragments may build on, each name starting with its file's. */
const BASES = ['packed', 'slices'];

export function loadScripts(): Scripts {
  const prelude = read('prelude');
  const algorithms = ALGORITHM_NAMES.map((name) => read(`algorithms/${name}`));
  const table = `local algorithms = {\n${ALGORITHM_NAMES.map(entryOf).join('\n')}\n}`;
  const decisions = read('decisions');
  const operate = read('frames/operate');
  return {
    decideOne: Object.fromEntries(
      ALGORITHM_NAMES.map((name) => [
        name,
        compose(`decide-one ${name}`, [
          prelude,
          ...withBasis(read(`algorithms/${name}`)),
          aliasesOf(name),
          decisions,
          read('frames/decide-one'),
        ]),
      ]),
    ) as Record<AlgorithmName, Script>,
    decideAll: compose('decide-all', [
      prelude,
      ...withBasis(...algorithms),
      table,
      decisions,
      read('frames/decide-all'),
    ]),
    amend: compose('amend', [
      prelude,
      ...withBasis(...algorithms),
      table,
      read('amendments'),
      operate,
    ]),
    count: compose('count', [
      prelude,
      ...withBasis(read('counters/event-log'), read('counters/slice-ring')),
      read('counting'),
      operate,
    ]),
  };
}

/** Fragments after those they build on, and no others: a script makes all its functions at every call. */
function withBasis(...fragments: string[]): string[] {
  const used = BASES.filter((base) => fragments.some((text) => text.includes(`${base}_`)));
  return [...used.map(read), ...fragments];
}

function compose(name: string, parts: readonly string[]): Script {
  const source = parts.join('\n');
  return { name, source, sha: createHash('sha1').update(source).digest('hex') };
}

/** The algorithm's parts, named as the hot path's frame calls them. */
function aliasesOf(name: AlgorithmName): string {
  const prefix = name.replaceAll('-', '_');
  return PARTS.map((part) => `local ${part} = ${prefix}_${part}`).join('\n');
}

function entryOf(name: AlgorithmName): string {
  const prefix = name.replaceAll('-', '_');
  return `  ['${name}'] = { ${PARTS.map((part) => `${part} = ${prefix}_${part}`).join(', ')} },`;
}

function read(name: string): string {
  const url = new URL(`../../../lua/${name}.lua`, import.meta.url);
  try {
    return readFileSync(url, 'utf8');
  } catch (error) {
    throw configError.missingFile(url.pathname, (error as Error).message);
  }
}
