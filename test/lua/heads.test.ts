import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { luaFiles, ROOT } from '../support/lua-files.js';

const files = luaFiles();
const under = (folder: string) =>
  files
    .filter(({ path }) => path.startsWith(`${folder}/`))
    .map((file) => [file.path, file] as const);

/** The text of a section, without its name. */
function section(head: string, name: string): string | undefined {
  return new RegExp(`^  ${name} +(\\S[^]*?)(?=\\n  \\S|$(?![^]))`, 'm').exec(head)?.[1];
}

describe('the head of each Lua file', () => {
  it.each(files.map((file) => [file.path, file] as const))('%s says what it is', (path, file) => {
    const name = path.replace(/^.*\/|\.lua$/g, '');
    expect(file.head.startsWith(`  ${name}: `)).toBe(true);
    expect(section(file.head, 'Cost')).toBeTruthy();
    for (const line of file.source.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
  });

  it.each(under('algorithms'))('%s has every section of an algorithm', (_, { head, code }) => {
    for (const name of ['State', 'Expires', 'Numbers', 'Clock', 'Twin', 'Source']) {
      expect([name, section(head, name)]).toEqual([name, expect.any(String)]);
    }
    for (const name of ['Check', 'Commit', 'Repair', 'Refund', 'Block']) {
      // The head gives each function as it is declared; a memo is called by
      // what it holds there, and what is not used _.
      const [, fn, told] = /^(\w+)\(([^)]*)\)/.exec(section(head, name)!)!;
      const declared = new RegExp(`^local function ${fn}\\(([^)]*)\\)`, 'm').exec(code)?.[1];
      expect(declared).toBeDefined();
      const names = told!.split(', ');
      for (const [i, one] of declared!.split(', ').entries())
        expect(['memo', one]).toContain(one === '_' ? 'memo' : names[i]);
    }
    expect(existsSync(ROOT + section(head, 'Twin')!)).toBe(true);
  });

  it.each(under('counters'))('%s has every section of a counter', (_, { head, code }) => {
    for (const name of ['State', 'Expires', 'Clock', 'Twin', 'Source']) {
      expect([name, section(head, name)]).toEqual([name, expect.any(String)]);
    }
    for (const [, operation] of code.matchAll(/^function \w+\.(\w+)/gm)) {
      expect([operation, section(head, operation!)]).toEqual([operation, expect.any(String)]);
    }
    expect(existsSync(ROOT + section(head, 'Twin')!)).toBe(true);
  });

  it.each(under('frames'))('%s tells its KEYS, ARGV and reply', (_, { head }) => {
    for (const name of ['KEYS', 'ARGV', 'Returns']) {
      expect([name, section(head, name)]).toEqual([name, expect.any(String)]);
    }
  });

  it.each(files.map((file) => [file.path, file] as const))(
    '%s lists every argument that it reads by position',
    (_, { head, code }) => {
      const listed = [...(section(head, 'ARGV') ?? '').matchAll(/\[(\d+)(\.\.)?\]/g)];
      for (const [, index] of code.matchAll(/ARGV\[(\d+)\]/g)) {
        const found = listed.some(([, from, on]) => (on ? index! >= from! : index === from));
        expect([index, found]).toEqual([index, true]);
      }
    },
  );
});
