import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { build, type Build } from '../support/build.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import type { Job, Report } from './counting.js';

const PROGRAM = 'test/alerts/counting.ts';
const PROCESSES = 4;
const EVENTS = 1000;

let server: RedisServer;
let compiled: Build;
let children: ChildProcess[] = [];
let reports: Report[];

beforeAll(async () => {
  server = await startRedis();
  compiled = build(PROGRAM);
  children = Array.from({ length: PROCESSES }, () =>
    // Not Jest's own flags.
    fork(compiled.fileOf(PROGRAM), [server.url], { execArgv: [] }),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  const job: Job = { events: EVENTS / PROCESSES };
  reports = await Promise.all(
    children.map(async (child) => {
      child.send(job);
      const [report] = (await once(child, 'message')) as [Report];
      return report;
    }),
  );
}, 60_000);

afterAll(async () => {
  await Promise.all(
    children.map(async (child) => {
      if (child.exitCode !== null) return;
      child.disconnect();
      await once(child, 'exit');
    }),
  );
  compiled?.remove();
  await server?.stop();
});

const told = (name: string) =>
  reports.flatMap(({ alerts }) => alerts.filter((alert) => alert.name === name));

it(`${PROCESSES} processes and ${EVENTS} events raise exactly one alert per threshold events`, () => {
  const alerts = told('cleared');
  expect(alerts).toHaveLength(EVENTS / 10);
  expect(new Set(alerts.map(({ count }) => count))).toEqual(new Set([10]));
});

it('each of several thresholds is told once on the way to the highest', () => {
  const thresholds = told('several').map(({ threshold, count }) => `${threshold} at ${count}`);
  expect(thresholds.filter((one) => one === '20 at 20')).toHaveLength(EVENTS / 50);
  expect(thresholds.filter((one) => one === '50 at 50')).toHaveLength(EVENTS / 50);
  expect(thresholds).toHaveLength((2 * EVENTS) / 50);
});

it('an alert that keeps the events is told once in the cooldown', () => {
  expect(told('kept')).toHaveLength(1);
});

it('the work is done by all of them, and a rejection that nobody handles stays one', () => {
  expect(reports.map(({ unhandled }) => unhandled)).toEqual(reports.map(() => ['Error: as ever']));
});
