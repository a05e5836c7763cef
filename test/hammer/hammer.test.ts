import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { mostInAnyWindow } from '../support/reference-model.js';
import type { Report } from './hammer.js';
import { descending, Processes } from './processes.js';

const PROCESSES = 4;

describe(`${PROCESSES} processes on one key, by the server's clock`, () => {
  let server: RedisServer;
  let redis: Redis;
  let processes: Processes;

  beforeAll(async () => {
    // A server of its own: its scripts are flushed, and its load disturbs nobody.
    server = await startRedis();
    redis = new Redis(server.url);
    processes = await Processes.start(PROCESSES, server.url);
  }, 60_000);

  afterAll(async () => {
    await processes?.stop();
    redis?.disconnect();
    await server?.stop();
  });

  function hammer(name: string, rule: Rule, forMs: number): Promise<Report> {
    const policy = { name, rules: rule, onStoreError: 'deny' } as const;
    return processes.hammer({ policy, subject: name, forMs, callers: 8, counting: true });
  }

  const timesOf = ({ admitted }: Report) => admitted.map(({ at }) => at);

  it('the admitted of one window see every remaining from N - 1 to 0, and none twice', async () => {
    const report = await hammer('long-window', { limit: 200, window: '1h' }, 500);
    expect(report.errors).toEqual([]);
    expect(report.denied).toBeGreaterThan(0);
    const remaining = report.admitted.map((one) => one.remaining).sort((a, b) => b - a);
    expect(remaining).toEqual(descending(200));
    // One event was counted for each, also those of the same millisecond.
    expect([...report.counts].sort((a, b) => b - a)).toEqual(
      descending(200).map((count) => count + 1),
    );
    expect(await redis.llen('hammer:{long-window|custom|long-window}:sliding-log.3600000')).toBe(
      200,
    );
  });

  it.each<[string, Rule]>([
    ['sliding-log', { limit: 40, window: '100ms' }],
    ['sliding-counter', { algorithm: 'sliding-counter', limit: 40, window: '100ms', slices: 10 }],
  ])('a %s admits no more than its limit in any window', async (name, rule) => {
    const { limit } = rule as { limit: number };
    const report = await hammer(name, rule, 1500);
    expect(report.errors).toEqual([]);
    expect(report.denied).toBeGreaterThan(0);
    // Many windows have been filled, so the limit was reached and not only kept.
    expect(report.admitted.length).toBeGreaterThan(5 * limit);
    expect(mostInAnyWindow(timesOf(report), 100)).toBeLessThanOrEqual(limit);
  });

  it('a fixed-window admits its limit in each window', async () => {
    const rule = { algorithm: 'fixed-window', limit: 40, window: '100ms' } as const;
    const report = await hammer('fixed-window', rule, 1000);
    expect(report.errors).toEqual([]);
    const remaining = new Map<number, number[]>();
    for (const one of report.admitted) {
      const window = Math.floor(one.at / 100);
      remaining.set(window, [...(remaining.get(window) ?? []), one.remaining]);
    }
    expect(remaining.size).toBeGreaterThan(5);
    for (const seen of remaining.values()) {
      expect(seen.sort((a, b) => b - a)).toEqual(descending(40).slice(0, seen.length));
    }
  });

  it('a token-bucket admits no more than its limit and what comes back', async () => {
    const rule = { algorithm: 'token-bucket', limit: 20, refill: 10, window: '50ms' } as const;
    const report = await hammer('token-bucket', rule, 1000);
    expect(report.errors).toEqual([]);
    const times = timesOf(report).sort((a, b) => a - b);
    expect(times.length).toBeGreaterThan(100);
    const excess = times.map((from, first) =>
      Math.max(
        ...times.slice(first).map((to, i) => {
          const refilled = Math.floor(((to - from) * rule.refill) / 50);
          return i + 1 - rule.limit - refilled;
        }),
      ),
    );
    expect(Math.max(...excess)).toBeLessThanOrEqual(0);
  });

  it('scripts flushed in mid-flight cost no error and admit nothing more', async () => {
    let flushes = 0;
    let flushing = true;
    const flusher = (async () => {
      while (flushing) {
        await redis.script('FLUSH');
        flushes++;
      }
    })();
    const report = await hammer('flushed', { limit: 40, window: '100ms' }, 1500);
    flushing = false;
    await flusher;
    expect(flushes).toBeGreaterThan(100);
    expect(report.errors).toEqual([]);
    expect(report.admitted.length).toBeGreaterThan(5 * 40);
    expect(mostInAnyWindow(timesOf(report), 100)).toBe(40);
  });
});
