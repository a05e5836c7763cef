import { afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import type { PolicyDefinition } from '../../lib/index.js';
import { ChaosProxy, type ChaosMode } from '../support/chaos-proxy.js';
import { freePort, startRedis } from '../support/redis-server.js';
import { openServices, type Services } from '../support/services.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const LIMIT = 200;
const WINDOW_MS = 60_000;
const POLICY: PolicyDefinition = {
  name: 'hard',
  rules: [
    { limit: LIMIT, window: WINDOW_MS },
    { algorithm: 'token-bucket', limit: LIMIT, refill: 1, window: WINDOW_MS },
  ],
};

describe('under load', () => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function open(redis: string): Promise<Services> {
    const services = await openServices('redis', {
      redis,
      keyPrefix: 'sw',
      timeout: 150,
      onStoreError: 'deny',
    });
    closers.push(() => services.close());
    return services;
  }

  it('admits never more than the limit while connections break at every turn, and every key expires', async () => {
    const server = await startRedis();
    closers.push(() => server.stop('SIGKILL'));
    const proxy = await ChaosProxy.start(server.port);
    closers.push(() => proxy.stop());
    const processes = await Promise.all([open(proxy.url), open(proxy.url)]);
    let admitted = 0;
    let refused = 0;
    let done = false;
    const callers = processes.flatMap(({ limiter }) =>
      Array.from({ length: 8 }, async () => {
        while (!done) {
          try {
            if ((await limiter.consume(POLICY, 'a')).allowed) admitted++;
            else await delay(5);
          } catch {
            refused++;
            await delay(5);
          }
        }
      }),
    );
    const faults: ChaosMode[] = ['cut-reply', 'pass', 'reset', 'pass', 'trickle', 'pass', 'stall'];
    for (let i = 0; i < 28; i++) {
      await proxy.set(faults[i % faults.length]!, 1);
      await delay(i % 2 === 0 ? 30 : 120);
    }
    await proxy.set('pass');
    await delay(1500);
    done = true;
    await Promise.all(callers);
    expect(refused).toBeGreaterThan(0);
    expect(admitted).toBeGreaterThan(0);
    expect(admitted).toBeLessThanOrEqual(LIMIT);

    const redis = new Redis(server.port);
    closers.push(() => redis.disconnect());
    const keys = await redis.keys('*');
    expect(keys.length).toBeGreaterThan(0);
    for (const key of keys) {
      const life = await redis.pttl(key);
      expect(life).toBeGreaterThan(0);
      // A bucket lives until it is full: the whole limit's worth of its refill.
      const most = key.includes('token-bucket') ? LIMIT * WINDOW_MS : 2 * WINDOW_MS;
      expect(life).toBeLessThanOrEqual(most + 1000);
    }
  }, 30_000);

  it('keeps nothing of decisions that were made while Redis was away', async () => {
    const { limiter } = await openServices('redis', {
      redis: `redis://127.0.0.1:${await freePort()}`,
    }).then((services) => {
      closers.push(() => services.close());
      return services;
    });
    const load = async (decisions: number) => {
      for (let i = 0; i < decisions; i += 100) {
        await Promise.all(Array.from({ length: 100 }, () => limiter.consume(POLICY, 'a')));
      }
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = await load(2_000);
    const after = await load(20_000);
    expect(after - before).toBeLessThan(2 * 1024 * 1024);
  }, 30_000);
});
