import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import type { SlicedCounter } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { commandsDuring } from '../support/commands.js';
import { keysOf, openRedis, openServices, type Services } from '../support/services.js';

const MINUTE = 60_000;
const START = Math.ceil(Date.UTC(2026, 0, 1) / MINUTE) * MINUTE;

describe('system 1: a ring of time slices', () => {
  const clock = new ManualClock(START);
  let services: Services;
  let other: Services;
  let redis: Redis;
  let keys = 0;
  let key: string;
  let counter: SlicedCounter;

  beforeAll(async () => {
    services = await openServices('redis', { clock });
    other = await openServices('redis', { clock, keyPrefix: services.keyPrefix });
    redis = openRedis();
  });
  afterAll(async () => {
    await services.close();
    await other.close();
    redis.disconnect();
  });
  beforeEach(() => {
    clock.set(START);
    key = `ring${keys++}`;
    counter = services.windows.sliced(key, { slice: '1m', window: '1h' });
  });

  const redisKey = async () => (await keysOf(redis, services)).find((one) => one.includes(key))!;

  it('counts per slice and per window on one structure', async () => {
    expect(await counter.increment(7)).toEqual({ slice: 7, window: 7 });
    clock.advance('1m');
    expect(await counter.increment()).toEqual({ slice: 1, window: 8 });
    clock.advance('30m');
    expect(await counter.increment(2)).toEqual({ slice: 2, window: 10 });
    expect(await counter.sliceValue()).toBe(2);
    expect(await counter.windowSum()).toBe(10);
    await counter.clear();
    expect(await counter.windowSum()).toBe(0);
  });

  it('limits per slice and per window on one ring', async () => {
    const policy = {
      name: 'two-limits',
      rules: [
        { algorithm: 'sliding-counter', limit: 1000, window: '1m', slices: 1 },
        { algorithm: 'sliding-counter', limit: 3000, window: '1h', slices: 60 },
      ],
    } as const;
    const take = async (cost: number) =>
      (await services.limiter.consume(policy, key, { cost })).allowed;
    expect(await take(1000)).toBe(true);
    expect(await take(1)).toBe(false);
    clock.advance('2m');
    expect(await take(1000)).toBe(true);
    clock.advance('2m');
    expect(await take(1000)).toBe(true);
    clock.advance('2m');
    // The minute is free, the hour is not.
    expect(await take(1)).toBe(false);
    const rings = (await keysOf(redis, services)).filter((one) => one.includes(key));
    expect(rings).toHaveLength(1);
    expect(await redis.type(rings[0]!)).toBe('string');
  });

  it('defect: a last index kept in each process zeroes live slices', async () => {
    const others = other.windows.sliced(key, { slice: '1m', window: '1h' });
    await counter.increment(5);
    clock.advance('1m');
    await others.increment(3);
    clock.advance('1m');
    await others.increment(2);
    // This process has last written two slices ago, and would zero the two that the other filled.
    expect(await counter.increment()).toEqual({ slice: 3, window: 11 });
    expect((await counter.timeline()).slice(-3)).toEqual([5, 3, 3]);
  });

  it.each([61, 60, 121, 2 * 121, 61 * 60])(
    'defect: indexes modulo the length take an old count for current, idle for %i slices',
    async (slices) => {
      await counter.increment(5);
      clock.set(START + slices * MINUTE);
      const held = slices === 60 ? 5 : 0;
      expect(await counter.increment()).toEqual({ slice: 1, window: held + 1 });
    },
  );

  it('defect: reading zeroes nothing, so that sums are stale after idle time', async () => {
    await counter.increment(5);
    clock.advance('1m');
    expect(await counter.sliceValue()).toBe(0);
    expect(await counter.windowSum()).toBe(5);
    clock.advance('60m');
    expect(await counter.windowSum()).toBe(0);
    expect(await counter.timeline()).toEqual(new Array(61).fill(0));
  });

  it('defect: the jump loop never ends when an index is out of range', async () => {
    const counters = services.windows.sliced(key, { slice: '1ms', window: '10ms' });
    await counters.increment(5);
    const began = performance.now();
    clock.set(START + 365 * 24 * 60 * MINUTE);
    expect(await counters.increment()).toEqual({ slice: 1, window: 1 });
    clock.set(START);
    expect(await counters.increment()).toEqual({ slice: 2, window: 2 });
    const name = await redisKey();
    for (const index of [-5, 2 ** 53, 1e300, Infinity, -Infinity, NaN]) {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(index);
      await redis.setrange(name, 0, bytes);
      // Nobody writes such an index; it must not keep the server from others all the same.
      await Promise.allSettled([counters.timeline(), counters.increment()]);
    }
    expect(performance.now() - began).toBeLessThan(5000);
  });

  it('defect: reads are several commands, not one', async () => {
    await counter.increment();
    const commands = await commandsDuring(redis, services.keyPrefix, async () => {
      await counter.windowSum();
      await counter.sliceValue();
      await counter.timeline();
    });
    expect(commands.map(([name]) => name!.toLowerCase())).toEqual([
      'evalsha',
      'evalsha',
      'evalsha',
    ]);
  });

  it('defect: the key stays for ever', async () => {
    await counter.increment();
    const life = await redis.pttl(await redisKey());
    expect(life).toBeGreaterThan(60 * MINUTE);
    expect(life).toBeLessThanOrEqual(2 * 60 * MINUTE + 1000);
  });

  it('defect: n slices cover less than the window, and a burst passes twice', async () => {
    const policy = {
      name: 'burst',
      rules: [{ algorithm: 'sliding-counter', limit: 10, window: '1h', slices: 60 }],
    } as const;
    const take = (cost: number) => services.limiter.consume(policy, key, { cost });
    const burst = START + MINUTE - 1;
    clock.set(burst);
    expect((await take(10)).allowed).toBe(true);
    await counter.increment(10);
    // The last n slices begin after the burst; the window does not.
    for (const at of [burst + 59 * MINUTE + 1, burst + 60 * MINUTE - 1]) {
      clock.set(at);
      expect((await take(1)).allowed).toBe(false);
      expect(await counter.windowSum()).toBe(10);
    }
    clock.set(burst + 60 * MINUTE + 1);
    expect((await take(10)).allowed).toBe(true);
    expect(await counter.windowSum()).toBe(0);
  });
});
