import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { LimitType } from '../../lib/index.js';
import { RateLimiterService, SlidingWindowService } from '../../lib/index.js';
import { compilePolicy, chargeOf } from '../../lib/limiting/policies.js';
import { closeApps, startApp, type TestApp } from '../support/app.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let server: RedisServer;
let app: TestApp;

/** A cluster of one node: all slots on one server, and yet one slot a call. */
beforeAll(async () => {
  server = await startRedis(['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1']);
  const redis = new Redis(server.url);
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  while (!(await redis.cluster('INFO')).includes('cluster_state:ok')) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  redis.disconnect();
  app = await startApp({
    options: { redis: { cluster: [{ host: '127.0.0.1', port: server.port }] } },
  });
}, 30_000);

afterAll(async () => {
  await closeApps();
  await server.stop();
});

describe('on a cluster', () => {
  it('decides for many subjects in one turn', async () => {
    const limiter = app.get(RateLimiterService);
    const policy = { name: 'many', rules: '2/1m' } as const;
    const decisions = await Promise.all(
      Array.from({ length: 300 }, (_, i) => limiter.consume(policy, `user-${i % 100}`)),
    );
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(200);
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['redis']));
  });

  it('gives back what earlier policies of a decision took when a later one denies', async () => {
    const limiter = app.get(RateLimiterService);
    const defaults = { onStoreError: 'local', shadow: false } as const;
    const policies = [
      { name: 'all', type: LimitType.GLOBAL, rules: '1/1m' },
      { name: 'one', type: LimitType.IP, rules: '5/1m' },
    ] as const;
    const ask = () =>
      limiter.decide(
        policies.map((policy) =>
          chargeOf(compilePolicy(policy, defaults, 'policy'), policy.type, 1),
        ),
      );
    expect((await ask()).allowed).toBe(true);
    for (let i = 0; i < 9; i++) expect((await ask()).violated).toEqual(['all']);
    expect((await limiter.peek(policies[1], 'ip')).policies[0]!.rules[0]!.remaining).toBe(4);
  });

  it('counts', async () => {
    const windows = app.get(SlidingWindowService);
    expect(await windows.calculateCount('k', '1m')).toBe(1);
    expect(await windows.clearOnCondition('k', '1m', 2)).toBe(true);
    expect(await windows.sliced('k', { slice: '1s', window: '9s' }).increment()).toEqual({
      slice: 1,
      window: 1,
    });
  });
});
