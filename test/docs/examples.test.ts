import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import ts from 'typescript';
import { type Build, build } from '../support/build.js';
import { blocksOf, PAGES, ROOT } from './pages.js';

/** What a block without an import of its own may use, on one line, so that lines keep their numbers. */
const FRAGMENT_HEAD = [
  `import { Body, Controller, Get, Injectable, Module, Post, UseGuards } from '@nestjs/common';`,
  `import type { ExecutionContext } from '@nestjs/common';`,
  `import { CountEvent, LimitType, OnThreshold, RateLimit, RateLimitInfo, RateLimiterService, SkipRateLimit, SlidingWindowModule, SlidingWindowService } from 'nestjs-sliding-window';`,
  `import type { Decision, Rule, ThresholdAlert } from 'nestjs-sliding-window';`,
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

/** Blocks that only show what is refused, or the form of something. */
const NOT_RUN = /@ts-expect-error/;

describe('the examples, run as they stand', () => {
  const RUNNER = 'test/docs/run-blocks.ts';
  let compiled: Build;
  let failures: Record<string, string>;
  const runs = blocks
    .map((block, i) => ({ ...block, i }))
    .filter(({ code }) => !NOT_RUN.test(code));
  const scriptOf = (i: number) => join(dirname(compiled.fileOf(RUNNER)), `block-${i}.js`);

  beforeAll(() => {
    compiled = build(RUNNER);
    const options = JSON.parse(readFileSync(join(ROOT, '.swcrc'), 'utf8')) as object;
    for (const { code, i } of runs) {
      const head = /^import /m.test(code) ? '' : FRAGMENT_HEAD;
      const script = transformSync(`${head}\n${code}`, { ...options, swcrc: false }).code;
      writeFileSync(
        scriptOf(i),
        script
          .replaceAll(/(['"])nestjs-sliding-window\/testing\1/g, "'../../lib/testing/index.js'")
          .replaceAll(/(['"])nestjs-sliding-window\1/g, "'../../lib/index.js'"),
      );
    }
    const output = execFileSync(
      process.execPath,
      [compiled.fileOf(RUNNER), ...runs.map(({ i }) => scriptOf(i))],
      { encoding: 'utf8', env: { ...process.env, REDIS_URL: '' } },
    );
    failures = JSON.parse(output.trim().split('\n').at(-1)!) as Record<string, string>;
  }, 120_000);
  afterAll(() => compiled.remove());

  it.each(runs)('$page:$line runs', ({ page, i }) => {
    // The page of errors shows what is refused.
    if (page === 'docs/errors.md') {
      expect(failures[scriptOf(i)] ?? 'RateLimitConfigError').toMatch(/^RateLimitConfigError/);
    } else {
      expect(failures[scriptOf(i)]).toBeUndefined();
    }
  });
});
