import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { commandsDuring } from '../support/commands.js';
import { keysOf, openRedis, openServices, type Services } from '../support/services.js';

const rules = {
  'fixed-window': { algorithm: 'fixed-window', limit: 10, window: '10s' },
  'sliding-log': { algorithm: 'sliding-log', limit: 10, window: '10s' },
  'token-bucket': { algorithm: 'token-bucket', limit: 10, refill: 5, window: '10s' },
} as const;
const names = Object.keys(rules) as (keyof typeof rules)[];

describe('system 3: three limiters in Lua', () => {
  const clock = new ManualClock();
  let services: Services;
  let redis: Redis;
  let subjects = 0;
  let subject: string;

  beforeAll(async () => {
    services = await openServices('redis', { clock });
    redis = openRedis();
  });
  afterAll(async () => {
    await services.close();
    redis.disconnect();
  });
  beforeEach(() => {
    subject = `user${subjects++}`;
  });

  const take = (name: keyof typeof rules, cost = 1) =>
    services.limiter.consume({ name, rules: rules[name] }, subject, { cost });
  const redisKeys = async () =>
    (await keysOf(redis, services)).filter((one) => one.includes(subject));

  it.each(names)('%s takes several units at once, or none', async (name) => {
    expect((await take(name, 7)).allowed).toBe(true);
    expect((await take(name, 4)).allowed).toBe(false);
    const last = await take(name, 3);
    expect(last.allowed).toBe(true);
    expect(last.policies[0]!.rules[0]!.remaining).toBe(0);
  });

  it.each(names)('defect: units of one millisecond collapse into one, %s', async (name) => {
    const outcomes = await Promise.all(Array.from({ length: 15 }, () => take(name)));
    expect(outcomes.filter(({ allowed }) => allowed)).toHaveLength(10);
  });

  it.each(names)('defect: the state has no TTL, %s', async (name) => {
    await take(name);
    const keys = await redisKeys();
    expect(keys).toHaveLength(1);
    const life = await redis.pttl(keys[0]!);
    expect(life).toBeGreaterThan(0);
    expect(life).toBeLessThanOrEqual(21_000);
  });

  it('defect: the bucket runs by a clock of whole seconds', async () => {
    await take('token-bucket', 10);
    // A unit comes back every two seconds.
    clock.advance('1999ms');
    expect(await take('token-bucket')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    clock.advance('1ms');
    expect((await take('token-bucket')).allowed).toBe(true);
  });

  it("defect: the bucket's time is passed in by the caller", async () => {
    const real = await openServices('redis');
    const policy = { name: 'bucket', rules: rules['token-bucket'] };
    const commands = await commandsDuring(redis, real.keyPrefix, () =>
      real.limiter.consume(policy, subject),
    );
    const [, , count, , ...args] = commands[0]!;
    expect(count).toBe('1');
    // The empty text stands for the time: the script asks the server.
    expect(args[0]).toBe('');
    expect(args.filter((arg) => Number(arg) > 1e12)).toEqual([]);
    await real.close();
  });

  it('defect: the bucket is written by two commands', async () => {
    const commands = await commandsDuring(redis, services.keyPrefix, () => take('token-bucket'));
    expect(commands).toHaveLength(1);
    const [key] = await redisKeys();
    expect(await redis.type(key!)).toBe('string');
    expect(await redis.strlen(key!)).toBe(16);
  });

  it.each(names)('defect: only 0 or 1 comes back, %s', async (name) => {
    const first = await take(name, 10);
    expect(first.policies[0]!.rules[0]).toMatchObject({ limit: 10, remaining: 0 });
    expect(first.policies[0]!.rules[0]!.resetMs).toBeGreaterThan(0);
    const denial = await take(name);
    expect(denial.allowed).toBe(false);
    expect(denial.retryAfterMs).toBeGreaterThan(0);
    clock.advance(denial.retryAfterMs!);
    expect((await take(name)).allowed).toBe(true);
  });
});
