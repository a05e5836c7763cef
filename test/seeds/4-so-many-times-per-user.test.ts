import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { commandsDuring } from '../support/commands.js';
import { keysOf, openRedis, openServices, type Services } from '../support/services.js';

describe('system 4: this user may do this action N times in T', () => {
  const clock = new ManualClock();
  const reply = { name: 'reply', rules: [{ limit: 5, window: '60s' }] } as const;
  let services: Services;
  let other: Services;
  let redis: Redis;
  let users = 0;
  let user: string;

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
    user = `user${users++}`;
  });

  const act = async () => (await services.limiter.consume(reply, user)).allowed;

  it('counts each user and each action apart', async () => {
    const like = { name: 'like', rules: [{ limit: 1, window: '60s' }] } as const;
    for (let i = 0; i < 5; i++) expect(await act()).toBe(true);
    expect(await act()).toBe(false);
    expect((await services.limiter.consume(like, user)).allowed).toBe(true);
    expect((await services.limiter.consume(reply, 'somebody-else')).allowed).toBe(true);
  });

  it('lets cold keys expire', async () => {
    await act();
    const key = (await keysOf(redis, services)).find((one) => one.includes(user))!;
    const life = await redis.pttl(key);
    expect(life).toBeGreaterThan(50_000);
    // A window, an eighth of it, and a second.
    expect(life).toBeLessThanOrEqual(68_500);
  });

  it('defect: denied calls count, and push the window on', async () => {
    for (let i = 0; i < 5; i++) await act();
    for (let i = 0; i < 59; i++) {
      clock.advance('1s');
      expect(await act()).toBe(false);
    }
    const key = (await keysOf(redis, services)).find((one) => one.includes(user))!;
    expect(await redis.llen(key)).toBe(5);
    clock.advance('1s');
    expect(await act()).toBe(true);
  });

  it('defect: ten are allowed in one millisecond where five are meant', async () => {
    const outcomes = await Promise.all(Array.from({ length: 10 }, act));
    expect(outcomes.filter(Boolean)).toHaveLength(5);
  });

  it('defect: a pipeline is not check-and-set', async () => {
    const commands = await commandsDuring(redis, services.keyPrefix, act);
    expect(commands.map(([name]) => name!.toLowerCase())).toEqual(['evalsha']);
    user = `${user}-raced`;
    const outcomes = await Promise.all(
      Array.from({ length: 40 }, (_, i) => {
        const { limiter } = i % 2 === 0 ? services : other;
        return limiter.consume(reply, user);
      }),
    );
    expect(outcomes.filter(({ allowed }) => allowed)).toHaveLength(5);
  });
});
