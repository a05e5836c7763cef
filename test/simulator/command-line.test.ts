import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { gzipSync } from 'node:zlib';
import type { Report } from '../../lib/simulator/report.js';
import { blocksOf } from '../docs/pages.js';
import { build, type Build } from '../support/build.js';
import { elementsOf } from './xml.js';

let built: Build;
let folder: string;
const at = (name: string) => join(folder, name);

beforeAll(() => {
  built = build();
  folder = mkdtempSync(join(tmpdir(), 'sliding-window-simulate-'));
  writeFileSync(at('access.log'), LOG);
  writeFileSync(at('access.log.gz'), gzipSync(LOG));
});
afterAll(() => {
  built.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Of 203.0.113.9 five requests within five seconds, of another address one, and two bad lines. */
const LOG = [
  ...[0, 1, 2, 3, 4].map((second) => common('203.0.113.9', `10:00:0${second}`)),
  'not a log line \u001b[31m',
  common('2001:db8::1', '10:00:03'),
  '',
  common('198.51.100.1', '25:00:00'),
].join('\n');

function common(address: string, time: string): string {
  return `${address} - - [01/Jan/2026:${time} +0000] "GET / HTTP/1.1" 200 5`;
}

const START = Date.UTC(2026, 0, 1, 10);

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `simulate` as a process; `input` is piped into it. */
async function simulate(
  args: readonly string[],
  input: Iterable<string | Buffer> = [],
  nodeOptions: readonly string[] = [],
): Promise<Ended> {
  const main = built.fileOf('lib/cli/main.ts');
  const child = spawn(process.execPath, [...nodeOptions, main, 'simulate', ...args], {
    cwd: folder,
    stdio: 'pipe',
  });
  const out: Record<'stdout' | 'stderr', string> = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => (out[name] += text));
  }
  const ended = once(child, 'close') as Promise<[number | null]>;
  // One that has ended for an error does not read on.
  await pipeline(Readable.from(input), child.stdin).catch(() => undefined);
  const [code] = await ended;
  return { code, ...out };
}

async function report(args: readonly string[], input?: Iterable<string | Buffer>): Promise<Report> {
  const { code, stdout, stderr } = await simulate([...args, '--json'], input);
  expect([code, stderr]).toEqual([0, '']);
  return JSON.parse(stdout) as Report;
}

describe('simulate', () => {
  it('reports as JSON who would have been denied, for each candidate', async () => {
    const { log, candidates, timeline } = await report([
      '--rule',
      '3/1m',
      '-r',
      '1/1s,4/1m',
      '--by',
      'ip',
      'access.log',
    ]);
    expect(log).toEqual({
      lines: 8,
      requests: 6,
      outsideRange: 0,
      badLines: 2,
      badLineSamples: [
        {
          file: 'access.log',
          line: 6,
          problem: 'not of the common log format',
          text: 'not a log line \u001b[31m',
        },
        {
          file: 'access.log',
          line: 9,
          problem: 'no time',
          text: common('198.51.100.1', '25:00:00'),
        },
      ],
      outOfOrder: 1,
      largestStepBackMs: 1000,
      subjects: 2,
      firstAt: START,
      lastAt: START + 4000,
    });
    expect(candidates.map(({ rule, denied }) => [rule, denied])).toEqual([
      ['3/1m', 2],
      ['1/1s,4/1m', 1],
    ]);
    expect(candidates[0]!.topSubjects).toEqual([
      {
        subject: '203.0.113.9',
        requests: 5,
        denied: 2,
        firstDeniedAt: START + 3000,
        longestRetryAfterMs: 57_000,
      },
    ]);
    expect(timeline).toEqual({
      startAt: START,
      bucketMs: 1000,
      requests: [1, 1, 1, 1, 2],
      denied: [
        [0, 0, 0, 1, 1],
        [0, 0, 0, 0, 1],
      ],
    });
  });

  it('prints a table, with the bad lines below it and nothing a terminal would obey', async () => {
    const { code, stdout, stderr } = await simulate(['--rule', '3/1m', '-r', '9/1m', 'access.log']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(
      '6 requests of 2 subjects, 2026-01-01 10:00:00 to 2026-01-01 10:00:04 UTC',
    );
    expect(stdout).toContain(
      '1 request out of order, by at most 1 s; decided at the latest time seen',
    );
    expect(stdout).toMatch(/│ +│ +3\/1m │ +9\/1m │/);
    expect(stdout).toMatch(/│ denied +│ +2 │ +0 │/);
    expect(stdout).toMatch(/│ denied, % +│ +33\.33 │ +0\.00 │/);
    expect(stdout).toMatch(/│ first denial +│ 2026-01-01 10:00:03 │ +– │/);
    expect(stdout).toMatch(/│ 203\.0\.113\.9 │ +5 │ +2 │ 2026-01-01 10:00:03 │ +57 s │/);
    expect(stdout).toContain('2 bad lines, not counted as requests');
    expect(stdout).toContain('  access.log:6: not of the common log format: not a log line');
    // eslint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/\u001b/);
  });

  it('shows the first few of many bad lines', async () => {
    const bad = Array.from({ length: 9 }, (_, i) => `bad ${i}\n`);
    const { stdout } = await simulate(['-r', '1/1m', '-'], [...bad, common('a::', '10:00:00')]);
    expect(stdout.match(/^ {2}-:\d: .*$/gm)).toHaveLength(5);
    expect(stdout).toContain('  and 4 more');
  });

  it('writes a plot', async () => {
    const { code } = await simulate([
      '-r',
      '3/1m',
      '-r',
      '1/1s',
      '--svg',
      'plot.svg',
      'access.log',
    ]);
    expect(code).toBe(0);
    const svg = readFileSync(at('plot.svg'), 'utf8');
    expect(elementsOf(svg).filter((name) => name === 'path')).toHaveLength(2);
  });

  it('reads standard input and what gzip has packed, by its content', async () => {
    const plain = await report(['-r', '3/1m', 'access.log']);
    const packed = readFileSync(at('access.log.gz'));
    const bytes = Array.from(packed, (byte) => Buffer.of(byte));
    for (const [file, input] of [
      ['access.log.gz', undefined],
      ['-', [LOG]],
      ['-', [packed]],
      ['-', bytes],
      ['-', [`\ufeff${LOG.replaceAll('\n', '\r\n')}`]],
    ] as const) {
      const { candidates, timeline } = await report(['-r', '3/1m', file], input);
      expect({ candidates, timeline }).toEqual({
        candidates: plain.candidates,
        timeline: plain.timeline,
      });
    }
  });

  it('reads several files as one log', async () => {
    const { log, candidates } = await report(['-r', '3/1m', 'access.log', 'access.log.gz']);
    expect(log).toMatchObject({ requests: 12, badLines: 4, outOfOrder: 6 });
    expect(candidates[0]).toMatchObject({ denied: 7 });
  });

  it('reads JSON lines, by a field', async () => {
    const lines = [0, 0.5, 1, 70].map((second) =>
      JSON.stringify({ user: { id: 7 }, at: new Date(START + second * 1000) }),
    );
    const { candidates } = await report(
      ['-r', '1/1m', '--by', 'user.id', '--time-field', 'at', '-'],
      [lines.join('\n')],
    );
    expect(candidates[0]).toMatchObject({ requests: 4, denied: 2 });
    expect(candidates[0]!.topSubjects[0]!.subject).toBe('7');
  });

  it('replays the part of a log that is asked for', async () => {
    const range = ['--from', '2026-01-01T10:00:01Z', '--to', '2026-01-01T10:00:04Z'];
    const { log } = await report(['-r', '1/1m', ...range, 'access.log']);
    expect(log).toMatchObject({ requests: 4, outsideRange: 2, firstAt: START + 1000 });
    const day = await report(['-r', '1/1m', '--from', '2026-01-02', 'access.log']);
    expect(day.log).toMatchObject({ requests: 0, outsideRange: 6, firstAt: null });
  });

  it('names as many subjects as it is told to', async () => {
    const { candidates } = await report(['-r', '0/1m', '--top', '1', 'access.log']);
    expect(candidates[0]).toMatchObject({ deniedSubjects: 2, topSubjects: { length: 1 } });
  });

  it('shows its progress on standard error, and only to a terminal', async () => {
    const terminal = ['--import', 'data:text/javascript,process.stderr.isTTY = true'];
    const known = await simulate(['-r', '1/1m', '--json', 'access.log'], [], terminal);
    expect(known.stderr).toMatch(/\[.*\] 100 % \| \d+ lines/);
    const unknown = await simulate(['-r', '1/1m', '--json', '-'], [LOG], terminal);
    expect(unknown.stderr).toMatch(/\d+ lines/);
    expect(unknown.stderr).not.toContain('%');
    for (const { stdout } of [known, unknown]) expect(JSON.parse(stdout)).toHaveProperty('log');
    expect((await simulate(['-r', '1/1m', 'access.log'])).stderr).toBe('');
  });

  it('reports nothing of an empty log', async () => {
    const { log } = await report(['-r', '1/1m', '-'], []);
    expect(log).toMatchObject({ lines: 0, requests: 0, lastAt: null });
    const { code, stdout } = await simulate(['-r', '1/1m', '--svg', 'empty.svg', '-']);
    expect([code, stdout]).toEqual([0, expect.stringContaining('0 requests of 0 subjects')]);
  });
});

describe('the guide', () => {
  const GUIDE = 'docs/guides/simulator.md';
  const block = (language: string, place: number) => blocksOf(GUIDE, language)[place]!.code;

  it('shows what the command prints', async () => {
    writeFileSync(at('guide.log'), block('log', 0));
    const args = block('sh', 1).trim().split(' simulate ')[1]!.replace('access.log', 'guide.log');
    const { stdout } = await simulate(args.split(' '));
    expect(stdout.replaceAll('guide.log', 'access.log')).toBe(block('text', 0));
  });

  it('shows the report as it is', async () => {
    const shown = JSON.parse(block('json', 0)) as Report;
    const got = await report(['-r', '4/1m', '-'], [block('log', 0)]);
    const text = JSON.stringify(got).replaceAll('"file":"-"', '"file":"access.log"');
    expect(JSON.parse(text)).toEqual(shown);
  });
});

describe('what cannot be simulated', () => {
  it.each([
    [['-r', '1/1m', 'nope.log'], 'nope.log: cannot be read (ENOENT: no such file or directory)'],
    [['-r', '1/1m', '.'], '.: cannot be read (EISDIR: illegal operation on a directory)'],
    [['-r', '1/1m', 'access.log', 'nope.log'], 'nope.log: cannot be read'],
    [['-r', 'many', 'access.log'], '--rule "many": "many" is not accepted; use'],
    [['-r', '1/1m', '-r', '10/1m,100/1s', 'access.log'], '--rule "10/1m,100/1s": '],
    [['-r', '1/1m', '--by', 'session', 'access.log'], '--by: "session" is not accepted; use "ip"'],
    [['-r', '1/1m', '-f', 'xml', 'access.log'], `option '-f, --format <format>' argument 'xml'`],
    [
      ['-r', '1/1m', '--top', '-1', 'access.log'],
      `option '--top <count>' argument '-1' is invalid`,
    ],
    [['-r', '1/1m', '--ipv6-prefix', '0', 'access.log'], '--ipv6-prefix: 0 is not accepted'],
    [
      ['-r', '1/1m', '--from', 'monday', 'access.log'],
      '--from: "monday" is not accepted; use a day',
    ],
    [
      ['-r', '1/1m', '--svg', 'no/plot.svg', 'access.log'],
      'no/plot.svg: cannot be written (ENOENT',
    ],
    [['-r', '1/1m', '-f', 'json', 'access.log'], 'access.log: none of 8 lines is of use; line 1: '],
    [['access.log'], `required option '-r, --rule <rule>' not specified`],
    [['-r', '1/1m'], `missing required argument 'log'`],
    [['-r', '1/1m', '--fast', 'access.log'], `unknown option '--fast'`],
  ])('%j: one line, and a code that is not 0', async (args, message) => {
    const { code, stderr } = await simulate(args);
    expect(stderr.startsWith(`error: ${message}`)).toBe(true);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(code).toBe(1);
  });

  it('is a log whose end is missing', async () => {
    const packed = readFileSync(at('access.log.gz'));
    const { code, stderr } = await simulate(['-r', '1/1m', '-'], [packed.subarray(0, -12)]);
    expect([code, stderr]).toEqual([1, 'error: -: cannot be read (unexpected end of file)\n']);
  });

  it('writes no plot', async () => {
    await simulate(['-r', '1/1m', '--svg', 'none.svg', 'nope.log']);
    expect(existsSync(at('none.svg'))).toBe(false);
  });
});

describe('a million lines', () => {
  const LINES = 1_000_000;
  const PER_SUBJECT = 30;

  /** Each subject asks 30 times within its second and a half, and never again: 33 334 subjects. */
  function* lines(): Generator<string> {
    for (let first = 0; first < LINES; first += 1000) {
      let text = '';
      for (let i = first; i < first + 1000; i++) {
        const subject = Math.floor(i / PER_SUBJECT);
        const time = new Date(START + i * 50).toISOString().slice(11, 19);
        // As long as an address can be: of a shorter text no part of the log would be kept.
        const parts = [subject >> 14, (subject >> 7) & 127, subject & 127];
        const address = `203.${parts.map((part) => 100 + part).join('.')}`;
        text += `${address} - - [0${1 + Math.floor((i * 50 + 36_000_000) / 86_400_000)}/Jan/2026:${time} +0000] "GET / HTTP/1.1" 200 5\n`;
      }
      yield text;
    }
  }

  it('are replayed in memory that only live keys and the subjects take', async () => {
    // Unswept, three sliding logs of a million timestamps would take more than this.
    const args = ['-r', '100/1m', '-r', '50/1m', '-r', '20/1m', '--json', '-'];
    const { code, stdout, stderr } = await simulate(args, lines(), ['--max-old-space-size=64']);
    expect([code, stderr]).toEqual([0, '']);
    const { log, candidates } = JSON.parse(stdout) as Report;
    expect(log).toMatchObject({ requests: LINES, subjects: Math.ceil(LINES / PER_SUBJECT) });
    expect(candidates.map(({ denied }) => denied)).toEqual([0, 0, 10 * 33_333]);
  }, 60_000);
});
