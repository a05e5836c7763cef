import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { LimitType, type PolicyDefinition } from '../../../lib/index.js';
import { keysOf, openRedis, openServices, type Services } from '../../support/services.js';

const SECRET = 'a secret of the shop';
const POLICY: PolicyDefinition = { name: 'login', type: LimitType.IP, rules: '2/1m' };

describe('with a keySecret', () => {
  let redis: Redis;
  let services: Services;

  beforeAll(async () => {
    redis = openRedis();
    services = await openServices('redis', { keySecret: SECRET });
  });
  afterAll(async () => {
    await services.close();
    redis.disconnect();
  });

  it('keeps nothing in Redis that names an address, an id, a counter or an event', async () => {
    const names = ['203.0.113.7', 'alice@example.org', 'x'.repeat(500), 'orders:alice', 'event-1'];
    const { limiter, windows } = services;
    await limiter.consume(POLICY, names[0]!);
    await limiter.consume({ name: 'user', rules: '2/1m' }, names[1]!);
    await limiter.consume({ name: 'user', rules: '2/1m' }, names[2]!);
    await windows.calculateCount(names[3]!, '1m', { id: names[4]! });
    await windows.sliced(names[3]!, { slice: '1s', window: '3s' }).increment();
    const keys = await keysOf(redis, services);
    expect(keys).toHaveLength(5);
    const events = await redis.zrange(
      keys.find((key) => key.includes('event-log'))!,
      0,
      '-1',
    );
    const { createHash } = await import('node:crypto');
    for (const name of names) {
      const digest = createHash('sha256').update(name, 'utf16le').digest('base64url');
      for (const text of [...keys, ...events]) {
        expect(text).not.toContain(name);
        expect(text).not.toContain(digest);
      }
    }
  });

  it('is one set of limits for all who have the secret, and another for all who have another', async () => {
    const twin = await openServices('redis', {
      keySecret: SECRET,
      keyPrefix: services.keyPrefix,
    });
    const other = await openServices('redis', {
      keySecret: 'another secret of the shop',
      keyPrefix: services.keyPrefix,
    });
    const remaining = async ({ limiter }: Services) =>
      (await limiter.consume(POLICY, '198.51.100.1')).policies[0]!.rules[0]!.remaining;
    expect([await remaining(services), await remaining(twin), await remaining(other)]).toEqual([
      1, 0, 1,
    ]);
    await twin.close();
    await other.close();
  });

  it('gives back, resets and blocks as without one', async () => {
    const { limiter } = services;
    const decision = await limiter.consume(POLICY, '198.51.100.2');
    await limiter.refund(decision);
    expect((await limiter.peek(POLICY, '198.51.100.2')).policies[0]!.rules[0]!.remaining).toBe(2);
    await limiter.block(POLICY, '198.51.100.2', '1m');
    expect((await limiter.consume(POLICY, '198.51.100.2')).allowed).toBe(false);
    await limiter.reset(POLICY, '198.51.100.2');
    expect((await limiter.consume(POLICY, '198.51.100.2')).allowed).toBe(true);
  });

  it('never shows the secret in an error', async () => {
    const failure = await openServices('redis', { keySecret: 'too short' }).catch(
      (error: unknown) => error,
    );
    expect((failure as Error).message).toMatch(/^keySecret: /);
    expect((failure as Error).message).not.toContain('too short');
  });
});
