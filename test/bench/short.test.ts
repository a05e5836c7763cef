import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Build, build } from '../support/build.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

interface Row {
  readonly name: string;
  readonly [figure: string]: unknown;
}

interface Results {
  readonly cases: Record<string, { readonly rows: readonly Row[] }>;
  readonly open: readonly { readonly rate: number; readonly rows: readonly Row[] }[];
  readonly bytes: readonly { readonly entries: number; readonly rows: readonly Row[] }[];
  readonly growth: readonly { readonly processes: number; readonly rows: readonly Row[] }[];
  readonly targets: readonly { readonly measured: number; readonly reached: boolean }[];
}

/** Every number of a result, with where it stands. */
function numbersOf(value: unknown, path = ''): [string, number][] {
  if (typeof value === 'number' || value === null) return [[path, value as number]];
  if (typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, one]) => numbersOf(one, `${path}.${key}`));
}

describe('the benchmark', () => {
  let library: Build;
  let folder: string;
  let results: Results;
  let page: string;
  const readPage = () => readFileSync(join(ROOT, 'docs/benchmarks.md'), 'utf8');

  beforeAll(async () => {
    library = build();
    folder = mkdtempSync(join(tmpdir(), 'sliding-window-bench-test-'));
    page = readPage();
    const file = library.fileOf('lib/index.ts');
    const args = ['bench/run.js', '--short', '--out', folder, '--library', file];
    // Of its own: a benchmark flushes what it is given.
    const env = { ...process.env, REDIS_URL: '' };
    await run(process.execPath, args, { cwd: ROOT, env });
    results = JSON.parse(readFileSync(join(folder, 'redis.json'), 'utf8')) as Results;
  }, 120_000);

  afterAll(() => {
    library?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it('measures every case', () => {
    expect(Object.keys(results.cases)).toEqual([
      ...['admitted', 'denied', 'load-admitted', 'load-denied', 'callers-1', 'one-denied'],
      ...['callers-16', 'callers-1000', 'keys-1', 'keys-100000', 'three-rules'],
      ...['sliding-log', 'sliding-counter', 'fixed-window', 'token-bucket'],
      ...['sliding-log-and-token-bucket', 'all-four-algorithms', 'lease'],
      ...['masters-1', 'masters-3'],
    ]);
    expect(results.open.map(({ rate }) => rate)).toEqual([2000, 10_000, 30_000]);
    expect(results.growth.map(({ processes }) => processes)).toEqual([1, 2]);
    expect(results.bytes.map(({ entries }) => entries)).toEqual([10, 1000]);
  });

  it('gives a number wherever it gives a figure', () => {
    const numbers = numbersOf(results);
    expect(numbers.length).toBeGreaterThan(1000);
    for (const [path, value] of numbers) {
      expect([path, Number.isFinite(value) && value >= 0]).toEqual([path, true]);
    }
    for (const { rows } of Object.values(results.cases)) {
      for (const { perSecond } of rows) {
        expect((perSecond as { median: number }).median).toBeGreaterThan(0);
      }
    }
  });

  it('says of every target whether it is reached', () => {
    expect(results.targets).toHaveLength(11);
    for (const { reached } of results.targets) expect(typeof reached).toBe('boolean');
  });

  it('draws its plots', () => {
    const plots = readdirSync(folder).filter((file) => file.endsWith('.svg'));
    expect(plots).toHaveLength(8);
    for (const plot of plots) {
      expect(readFileSync(join(folder, plot), 'utf8')).toMatch(/^<svg [^]*<\/svg>\n$/);
    }
  });

  it('leaves the page and the results of the last full run alone', () => {
    expect(readPage()).toBe(page);
  });
});

describe('docs/benchmarks.md', () => {
  it('shows the figures of the last full run', async () => {
    const { stderr } = await run(process.execPath, ['bench/docs.js', '--check'], { cwd: ROOT });
    expect(stderr).toBe('');
  });
});
