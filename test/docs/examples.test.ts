import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';
import { blocksOf, PAGES, ROOT } from './pages.js';

/** What a block without an import of its own may use, on one line, so that lines keep their numbers. */
const FRAGMENT_HEAD = [
  `import { Body, Controller, Get, Injectable, Module, Post, UseGuards } from '@nestjs/common';`,
  `import type { ExecutionContext } from '@nestjs/common';`,
  `import { LimitType, RateLimit, RateLimitInfo, RateLimiterService, SkipRateLimit, SlidingWindowModule, SlidingWindowService } from 'nestjs-sliding-window';`,
  `import type { Decision, Rule } from 'nestjs-sliding-window';`,
  `declare const limiter: RateLimiterService, windows: SlidingWindowService;`,
].join(' ');

const blocks = PAGES.flatMap((page) => blocksOf(page, 'ts'));
const cache = join(ROOT, 'node_modules/.cache/doc-blocks');
const problems = new Map<string, string[]>();
let folder: string;

/** Blocks are numbered, so that what is said of a file is found again by its name. */
const fileOf = (index: number) => join(folder, `${index}.mts`);

beforeAll(() => {
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, 'run-'));
  blocks.forEach(({ code }, i) => {
    const head = /^import /m.test(code) ? '' : FRAGMENT_HEAD;
    writeFileSync(fileOf(i), `${head}\n${code}`);
  });
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) =>
    ts.sys.readFile(path),
  ) as { config: { compilerOptions: Record<string, unknown> } };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT);
  const program = ts.createProgram(
    blocks.map((_, i) => fileOf(i)),
    {
      ...options,
      noUnusedLocals: false,
      // Nothing is emitted: only whether it compiles is asked.
      rewriteRelativeImportExtensions: false,
      paths: {
        'nestjs-sliding-window': [join(ROOT, 'lib/index.ts')],
        'nestjs-sliding-window/testing': [join(ROOT, 'lib/testing/index.ts')],
      },
    },
  );
  for (const { file, start, messageText } of ts.getPreEmitDiagnostics(program)) {
    const name = file === undefined ? '' : basename(file.fileName);
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    const line = file === undefined ? 0 : file.getLineAndCharacterOfPosition(start!).line;
    problems.set(name, [...(problems.get(name) ?? []), `line ${line} of the block: ${text}`]);
  }
}, 60_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the examples', () => {
  it.each(blocks.map((block, i) => ({ ...block, i })))('$page:$line compiles', ({ i }) => {
    expect(problems.get(`${i}.mts`) ?? []).toEqual([]);
  });

  it('are checked with options that TypeScript accepts', () => {
    expect(problems.get('') ?? []).toEqual([]);
  });
});
