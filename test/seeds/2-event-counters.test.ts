import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import { Test } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import { ScriptRunner, SlidingWindowModule, SlidingWindowService } from '../../lib/index.js';
import { loadScripts, type Script } from '../../lib/stores/redis/scripts.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { keysOf, openRedis, openServices, type Services } from '../support/services.js';

describe('system 2: event counters on a sorted set', () => {
  const clock = new ManualClock();
  let services: Services;
  let windows: SlidingWindowService;
  let redis: Redis;
  let keys = 0;
  let key: string;

  beforeAll(async () => {
    services = await openServices('redis', { clock, onStoreError: 'deny' });
    windows = services.windows;
    redis = openRedis();
  });
  afterAll(async () => {
    await services.close();
    redis.disconnect();
  });
  beforeEach(() => {
    key = `rule${keys++}`;
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const redisKey = async () => (await keysOf(redis, services)).find((one) => one.includes(key))!;

  it('calculateCount returns the count', async () => {
    expect(await windows.calculateCount(key, '10s')).toBe(1);
    clock.advance('5s');
    expect(await windows.calculateCount(key, '10s')).toBe(2);
    clock.advance('5s');
    expect(await windows.calculateCount(key, '10s')).toBe(2);
    expect(await windows.count(key, '10s')).toBe(2);
  });

  it('keepCalculate tells when the threshold is reached and keeps the events', async () => {
    const told: boolean[] = [];
    for (let i = 0; i < 5; i++) told.push(await windows.keepCalculate(key, '3s', 3));
    expect(told).toEqual([false, false, true, true, true]);
    expect(await windows.count(key, '3s')).toBe(5);
  });

  it('clearOnCondition tells when the threshold is reached and clears the events', async () => {
    const told: boolean[] = [];
    for (let i = 0; i < 5; i++) told.push(await windows.clearOnCondition(key, '3s', 3));
    expect(told).toEqual([false, false, true, false, false]);
    expect(await windows.count(key, '3s')).toBe(2);
  });

  it('clearOnCondition tells exactly one of many callers', async () => {
    const told = await Promise.all(
      Array.from({ length: 20 }, () => windows.clearOnCondition(key, '3s', 20)),
    );
    expect(told.filter(Boolean)).toHaveLength(1);
  });

  it('adding the module configures everything', async () => {
    const module = await Test.createTestingModule({
      imports: [SlidingWindowModule.forRoot({ redis: process.env.REDIS_URL! })],
    }).compile();
    await module.init();
    expect(module.get(ScriptRunner)).toBeInstanceOf(ScriptRunner);
    expect(await module.get(SlidingWindowService).calculateCount(key, '1s')).toBe(1);
    await module.get(SlidingWindowService).clear(key);
    await module.close();
  });

  it('defect: events of one millisecond collapse into one', async () => {
    for (let i = 1; i <= 10; i++) expect(await windows.calculateCount(key, '10s')).toBe(i);
  });

  it('defect: the clearing script is not valid Lua', async () => {
    const { count } = loadScripts();
    expect(await redis.script('LOAD', (count satisfies Script).source)).toBe(count.sha);
    expect(await windows.clearOnCondition(key, '3s', 1)).toBe(true);
    expect(await redisKey()).toBeUndefined();
  });

  it('defect: errors are swallowed', async () => {
    await windows.calculateCount(key, '3s');
    await redis.set(await redisKey(), 'of a foreign type');
    await expect(windows.calculateCount(key, '3s')).rejects.toMatchObject({
      cause: { reason: 'WRONGTYPE' },
    });
    await expect(windows.keepCalculate(key, '3s', 1)).rejects.toMatchObject({
      cause: { reason: 'WRONGTYPE' },
    });
    await expect(windows.clearOnCondition(key, '3s', 1)).rejects.toMatchObject({
      cause: { reason: 'WRONGTYPE' },
    });
    await expect(windows.count(key, '3s')).rejects.toMatchObject({
      cause: { reason: 'WRONGTYPE' },
    });
    await expect(windows.timeline(key, '3s', 3)).rejects.toMatchObject({
      cause: { reason: 'WRONGTYPE' },
    });
    await expect(windows.remove(key, 'id')).rejects.toMatchObject({
      cause: { reason: 'WRONGTYPE' },
    });
  });

  it('defect: a false of Lua comes back as nil', async () => {
    expect(await windows.keepCalculate(key, '3s', 9)).toBe(false);
    expect(await windows.clearOnCondition(key, '3s', 9)).toBe(false);
    expect(await windows.remove(key, 'nobody')).toBe(false);
  });

  it("defect: time comes from the caller's clock", async () => {
    const real = await openServices('redis', { keyPrefix: services.keyPrefix });
    expect(await real.windows.calculateCount(key, '10m')).toBe(1);
    const now = Date.now();
    jest.spyOn(Date, 'now').mockReturnValue(now + 3_600_000);
    jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 3_600_000);
    expect(await real.windows.calculateCount(key, '10m')).toBe(2);
    const rule = { name: 'time', rules: '10/10m' } as const;
    const { decidedAt } = await real.limiter.consume(rule, key);
    expect(Math.abs(decidedAt - now)).toBeLessThan(60_000);
    jest.restoreAllMocks();
    await real.close();
  });

  it('defect: the boundary is inclusive on one side by accident', async () => {
    await windows.calculateCount(key, '10s');
    expect(await windows.count(key, '10s')).toBe(1);
    clock.advance('9999ms');
    expect(await windows.count(key, '10s')).toBe(1);
    expect(await windows.timeline(key, '10s', 10)).toEqual([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    clock.advance('1ms');
    expect(await windows.count(key, '10s')).toBe(0);
    expect(await windows.timeline(key, '10s', 10)).toEqual(new Array(10).fill(0));
  });
});
