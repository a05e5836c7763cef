import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { read } from './pages.js';

const table = /## What is promised.*?\n\n(.*?)\n\n/s.exec(read('docs/reliability.md'))![1]!;
const rows = table.split('\n').slice(2);

describe('the promises of docs/reliability.md', () => {
  it.each(rows)('name a test that exists: %s', (row) => {
    const files = [...row.matchAll(/`(test\/[^`]+)`/g)].map((match) => match[1]!);
    if (files.length === 0) expect(row).toMatch(/the same|every test/);
    for (const file of files) {
      expect([file, existsSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)))]).toEqual([
        file,
        true,
      ]);
    }
  });
});
