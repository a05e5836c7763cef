import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import {
  type PolicyDefinition,
  RateLimitUnavailableException,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import { freePort, type RedisServer, startRedis } from '../support/redis-server.js';
import { openServices, type Services } from '../support/services.js';

const TIMEOUT_MS = 150;
const POLICY: PolicyDefinition = { name: 'search', rules: '3/10m' };

describe('while Redis is away', () => {
  let port: number;
  let server: RedisServer | undefined;
  let services: Services | undefined;

  beforeEach(async () => {
    port = await freePort();
  });
  afterEach(async () => {
    await services?.close();
    await server?.stop('SIGKILL');
    services = server = undefined;
  });

  const start = async () => (server = await startRedis([], port));
  const open = async (options: SlidingWindowOptions = {}) =>
    (services = await openServices('redis', {
      redis: `redis://127.0.0.1:${port}`,
      timeout: TIMEOUT_MS,
      ...options,
    }));

  /** Until a decision comes from Redis again. */
  async function healed({ limiter }: Services): Promise<void> {
    for (let i = 0; i < 100; i++) {
      if ((await limiter.consume({ ...POLICY, name: 'probe' }, `${i}`)).source === 'redis') return;
      await delay(50);
    }
    throw new Error('no decision came from Redis within five seconds');
  }

  async function timed<T>(action: () => Promise<T>): Promise<[T, number]> {
    const start = performance.now();
    return [await action(), performance.now() - start];
  }

  it('starts without it, decides in the process with the same rules, and heals when it comes', async () => {
    const { limiter, ...rest } = await open();
    const decisions = [];
    for (let i = 0; i < 5; i++) decisions.push(await limiter.consume(POLICY, 'a'));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, true, false, false]);
    expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['fallback']));
    await start();
    await healed({ limiter, ...rest });
    expect(await limiter.consume(POLICY, 'a')).toMatchObject({ allowed: true, source: 'redis' });
  });

  it('executes nothing late: 100 decisions leave no key behind when it comes', async () => {
    const { limiter, ...rest } = await open();
    await Promise.all(Array.from({ length: 100 }, () => limiter.consume(POLICY, 'a')));
    await start();
    const redis = new Redis(port, { maxRetriesPerRequest: 0 });
    await delay(500);
    expect(await redis.dbsize()).toBe(0);
    redis.disconnect();
    await healed({ limiter, ...rest });
  });

  it('answers in time when it accepts and is silent, and says so once', async () => {
    await start();
    const { limiter, events } = await open();
    await limiter.consume(POLICY, 'a');
    server!.process.kill('SIGSTOP');
    for (let i = 0; i < 12; i++) {
      const [decision, tookMs] = await timed(() => limiter.consume(POLICY, 'b'));
      expect(decision.source).toBe('fallback');
      expect(tookMs).toBeLessThan(TIMEOUT_MS + 50);
      // Out of use after five: nobody waits any more.
      if (i >= 5) expect(tookMs).toBeLessThan(TIMEOUT_MS);
    }
    server!.process.kill('SIGCONT');
    await healed(services!);
    const changes = events.filter(({ type }) => type === 'store-down' || type === 'store-up');
    expect(changes).toEqual([{ type: 'store-down', reason: 'timeout' }, { type: 'store-up' }]);
  });

  it('survives a kill -9 and a new start on the same port', async () => {
    await start();
    const { limiter, ...rest } = await open();
    await limiter.consume(POLICY, 'a');
    await server!.stop('SIGKILL');
    const [decision, tookMs] = await timed(() => limiter.consume(POLICY, 'a'));
    expect(decision).toMatchObject({ allowed: true, source: 'fallback' });
    expect(tookMs).toBeLessThan(TIMEOUT_MS + 50);
    await start();
    await healed({ limiter, ...rest });
  });

  it('admits where a policy says allow, and charges nobody', async () => {
    const { limiter } = await open({ onStoreError: 'allow' });
    for (let i = 0; i < 9; i++) {
      const decision = await limiter.consume(POLICY, 'a');
      expect(decision).toMatchObject({ allowed: true, source: 'fallback' });
      expect(decision.policies[0]!.rules[0]!.remaining).toBe(3);
      await limiter.refund(decision);
    }
  });

  it('refuses with 503 where a policy says deny, whatever the module says', async () => {
    const { limiter } = await open({ onStoreError: 'allow' });
    const strict: PolicyDefinition = { ...POLICY, onStoreError: 'deny' };
    const refusal = limiter.consume(strict, 'a');
    await expect(refusal).rejects.toBeInstanceOf(RateLimitUnavailableException);
    await expect(refusal).rejects.toMatchObject({ status: 503, retryAfterMs: 1000 });
    expect((await limiter.consume({ ...strict, shadow: true }, 'a')).allowed).toBe(true);
  });

  it('gives back in the process what was charged there', async () => {
    const { limiter } = await open();
    const first = await limiter.consume(POLICY, 'a', { cost: 3 });
    expect((await limiter.consume(POLICY, 'a')).allowed).toBe(false);
    await limiter.refund(first, 2);
    expect((await limiter.peek(POLICY, 'a')).policies[0]!.rules[0]!.remaining).toBe(2);
  });

  it('grants its part of the limit where several processes fall back', async () => {
    const { limiter } = await open({ replicas: 4 });
    const wide: PolicyDefinition = {
      name: 'wide',
      rules: ['10/1m', { algorithm: 'token-bucket', limit: 3, refill: 8, window: '1s' }],
    };
    const { policies } = await limiter.peek(wide, 'a');
    expect(policies[0]!.rules.map(({ limit }) => limit)).toEqual([2, 1]);
    expect((await limiter.peek({ name: 'none', rules: '0/1m' }, 'a')).allowed).toBe(false);
  });

  it('keeps out who was blocked while it was there', async () => {
    await start();
    const { limiter } = await open();
    await limiter.block(POLICY, 'a', '10m');
    await server!.stop('SIGKILL');
    expect(await limiter.consume(POLICY, 'a')).toMatchObject({
      allowed: false,
      source: 'fallback',
    });
  });

  it('refuses to block, to reset and to give back what it holds, and says so', async () => {
    await start();
    const { limiter } = await open();
    const decision = await limiter.consume(POLICY, 'a');
    await server!.stop('SIGKILL');
    for (const act of [
      () => limiter.block(POLICY, 'a', '10m'),
      () => limiter.reset(POLICY, 'a'),
      () => limiter.refund(decision),
    ]) {
      await expect(act()).rejects.toBeInstanceOf(RateLimitUnavailableException);
    }
  });

  it.each([
    ['local', [1, 2, true, 2]],
    ['allow', [0, 0, false, 0]],
  ] as const)('counts by %s', async (onStoreError, [first, second, reached, count]) => {
    const { windows } = await open({ onStoreError });
    expect(await windows.calculateCount('k', '1m')).toBe(first);
    expect(await windows.calculateCount('k', '1m')).toBe(second);
    expect(await windows.count('k', '1m')).toBe(count);
    expect(await windows.clearOnCondition('k', '1m', 3)).toBe(reached);
    const calls = windows.sliced('s', { slice: '1s', window: '3s' });
    expect((await calls.increment()).window).toBe(first);
    expect(await windows.remove('k', 'nobody')).toBe(false);
  });

  it('rejects counts by deny', async () => {
    const { windows } = await open({ onStoreError: 'deny' });
    await expect(windows.calculateCount('k', '1m')).rejects.toBeInstanceOf(
      RateLimitUnavailableException,
    );
  });

  it('works with a client that queues commands and tries them again, and asks nothing of it meanwhile', async () => {
    const client = new Redis({ port, lazyConnect: true });
    client.on('error', () => undefined);
    const { limiter, ...rest } = await open({ redis: client });
    const [decision, tookMs] = await timed(() => limiter.consume(POLICY, 'a'));
    expect(decision).toMatchObject({ allowed: true, source: 'fallback' });
    expect(tookMs).toBeLessThan(TIMEOUT_MS + 50);
    await start();
    await healed({ limiter, ...rest });
    expect((await limiter.peek(POLICY, 'a')).policies[0]!.rules[0]!.remaining).toBe(3);
    await services!.close();
    expect(client.status).toBe('ready');
    client.disconnect();
  });
});
