import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as after } from 'node:timers/promises';
import type { Decision } from '../../lib/index.js';
import { until } from '../support/redis-cluster.js';
import { RedisSentinel } from '../support/redis-sentinel.js';
import { openServices, type Services } from '../support/services.js';

const LIMIT = 200;
const TIMEOUT_MS = 150;

let sentinel: RedisSentinel;
let services: Services;

beforeAll(async () => {
  sentinel = await RedisSentinel.start({ replicas: 2 });
  services = await openServices('redis', { redis: sentinel.connection, timeout: TIMEOUT_MS });
}, 30_000);

afterAll(async () => {
  await services?.close();
  await sentinel?.stop();
});

/** One caller on one subject from before `event` until Redis denies again after it. */
async function during(name: string, event: () => Promise<unknown>) {
  const decisions: Decision[] = [];
  let slowestMs = 0;
  let asking = true;
  const caller = (async () => {
    const policy = { name, rules: { limit: LIMIT, window: '1h' } } as const;
    while (asking) {
      const start = performance.now();
      decisions.push(await services.limiter.consume(policy, 'hot'));
      slowestMs = Math.max(slowestMs, performance.now() - start);
      await after(2);
    }
  })();
  await until('the first decisions', () => decisions.length > 20);
  await event();
  const { length } = decisions;
  await until('Redis decides, and the limit is reached', () => {
    const latest = decisions.slice(length).slice(-20);
    return latest.length === 20 && latest.every((one) => one.source === 'redis' && !one.allowed);
  });
  asking = false;
  await caller;
  const admittedBy = (source: string) =>
    decisions.filter((one) => one.allowed && one.source === source).length;
  return { redis: admittedBy('redis'), fallback: admittedBy('fallback'), slowestMs };
}

it('finds the master by its name', async () => {
  const decision = await services.limiter.consume({ name: 'first', rules: '5/1h' }, 'one');
  expect(decision.source).toBe('redis');
  expect(services.events).toEqual([
    { type: 'self-check', check: expect.objectContaining({ problems: [] }) },
  ]);
});

it.each([
  ['is-asked-for', () => sentinel.failover()],
  ['follows-a-kill', async () => sentinel.untilMasterIsNot(await sentinel.killMaster())],
])(
  'goes on with the new master after a failover that %s: no decision fails or waits, at most the limit again',
  async (name, failover) => {
    const before = await sentinel.master();
    const admitted = await during(name, failover);
    expect((await sentinel.master()).port).not.toBe(before.port);
    expect(admitted.slowestMs).toBeLessThan(TIMEOUT_MS + 50);
    expect(admitted.redis).toBeGreaterThanOrEqual(LIMIT);
    expect(admitted.redis).toBeLessThanOrEqual(2 * LIMIT);
    expect(admitted.fallback).toBeLessThanOrEqual(LIMIT);
  },
  30_000,
);
