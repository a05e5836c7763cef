import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ThrottlerStorageService } from '@nestjs/throttler';
import fc from 'fast-check';
import { RateLimitConfigError, SlidingWindowThrottlerStorage } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { START } from '../support/histories.js';
import { mostInAnyWindow } from '../support/reference-model.js';
import { openRedis, openServices, keysOf, type Services, STORES } from '../support/services.js';

const clock = new ManualClock(START);
const opened: Services[] = [];
const storages = new Map<string, SlidingWindowThrottlerStorage>();
let keys = 0;

beforeAll(async () => {
  for (const store of STORES) {
    const services = await openServices(store, { clock });
    opened.push(services);
    storages.set(store, new SlidingWindowThrottlerStorage(services.limiter));
  }
});
afterAll(async () => {
  for (const services of opened) await services.close();
});

const both = () =>
  [...storages.values()] as [SlidingWindowThrottlerStorage, SlidingWindowThrottlerStorage];

/** Redis expires keys by its own clock, a second after their window: none goes during a test. */
const LONG = fc.integer({ min: 20_000, max: 60_000 });

const numbers = fc
  .record({ limit: fc.integer({ min: 0, max: 5 }), ttl: LONG })
  .chain(({ limit, ttl }) =>
    fc.record({
      limit: fc.constant(limit),
      ttl: fc.constant(ttl),
      blockDuration: fc.constantFrom(0, 1, Math.floor(ttl / 3), ttl - 1, ttl, ttl + 1, 3 * ttl),
      waits: fc.array(
        fc.oneof(
          { weight: 3, arbitrary: fc.constantFrom(0, 0, 1) },
          { weight: 2, arbitrary: fc.constantFrom(ttl - 1, ttl, ttl + 1) },
          { weight: 2, arbitrary: fc.integer({ min: 0, max: ttl }) },
        ),
        { minLength: 1, maxLength: 40 },
      ),
    }),
  );

describe('the storage for throttler', () => {
  it('tells the same from both stores, and admits no more than the limit in any window', async () => {
    await fc.assert(
      fc.asyncProperty(numbers, async ({ limit, ttl, blockDuration, waits }) => {
        const key = `k${keys++}`;
        const admitted: number[] = [];
        for (const wait of waits) {
          if (wait > 0) clock.advance(wait);
          const [memory, redis] = await Promise.all(
            both().map((storage) => storage.increment(key, ttl, limit, blockDuration, 'default')),
          );
          expect(redis).toEqual(memory);
          if (!memory!.isBlocked) admitted.push(clock.now());
        }
        expect(mostInAnyWindow(admitted, ttl)).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 150 },
    );
  });

  it('passes again when it said so, and not a second before', async () => {
    await fc.assert(
      fc.asyncProperty(numbers, async ({ limit, ttl, blockDuration, waits }) => {
        fc.pre(limit > 0);
        for (const storage of both()) {
          const key = `k${keys++}`;
          const ask = () => storage.increment(key, ttl, limit, blockDuration, 'default');
          let denied = await ask();
          for (const wait of waits.slice(0, 10)) {
            if (denied.isBlocked) break;
            if (wait > 0) clock.advance(wait);
            denied = await ask();
          }
          if (!denied.isBlocked) continue;
          clock.advance(denied.timeToBlockExpire * 1000);
          expect((await ask()).isBlocked).toBe(false);
        }
      }),
      { numRuns: 60 },
    );
  });

  it.each([0, 60_000])(
    "tells the guard what throttler's own storage tells, with a blockDuration of %d",
    async (blockDuration) => {
      const theirs = new ThrottlerStorageService();
      for (let i = 0; i < 3; i++) {
        const expected = await theirs.increment('key', 60_000, 2, blockDuration, 'default');
        for (const storage of both()) {
          const told = await storage.increment(
            `same-${blockDuration}`,
            60_000,
            2,
            blockDuration,
            'default',
          );
          expect(told).toEqual({
            ...expected,
            timeToBlockExpire: Math.max(0, expected.timeToBlockExpire),
          });
        }
      }
      theirs.onApplicationShutdown();
    },
  );

  it.each([
    [Number.NaN, 1000, 0, /^throttler "short" limit: NaN is not accepted/],
    [Infinity, 1000, 0, /^throttler "short" limit: Infinity is not accepted/],
    [-1, 1000, 0, /^throttler "short" limit: -1 is not accepted/],
    ['10', 1000, 0, /^throttler "short" limit: "10" is not accepted/],
    [1, 0, 0, /^throttler "short" ttl: 0 is not accepted/],
    [1, Number.NaN, 0, /^throttler "short" ttl: NaN is not accepted/],
    [1, 366 * 86_400_000, 0, /^throttler "short" ttl: 31622400000 is not accepted/],
    [1, 1000, Number.NaN, /^throttler "short" blockDuration: NaN is not accepted/],
  ])('refuses a limit of %p, a ttl of %p and a blockDuration of %p', async (...row) => {
    const [limit, ttl, blockDuration, message] = row as [number, number, number, RegExp];
    for (const storage of both()) {
      const failure = await storage
        .increment(`k${keys++}`, ttl, limit, blockDuration, 'short')
        .catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(RateLimitConfigError);
      expect((failure as Error).message).toMatch(message);
    }
  });

  it('keeps throttlers apart whatever their names hold', async () => {
    const names = [
      'a b',
      'a.b',
      'a.20.b',
      'a-b',
      'a_b',
      'ä',
      '',
      ' ',
      'x'.repeat(100),
      'x'.repeat(101),
      '..',
    ];
    for (const storage of both()) {
      for (const name of names) {
        const told = await storage.increment('apart', 60_000, 1, 0, name);
        expect([name, told.isBlocked]).toEqual([name, false]);
      }
    }
  });

  it('holds a limit too high for a log as strictly', async () => {
    for (const storage of both()) {
      const told = await storage.increment('high', 60_000, 100_001, 0, 'default');
      expect(told).toMatchObject({ totalHits: 1, isBlocked: false });
    }
  });

  it('goes on counting when the limit changes, and keeps one key for it', async () => {
    const redis = openRedis();
    const services = opened[1]!;
    const before = await keysOf(redis, services);
    for (const storage of both()) {
      await storage.increment('changing', 60_000, 1, 0, 'default');
      const raised = await storage.increment('changing', 60_000, 3, 0, 'default');
      expect(raised).toMatchObject({ totalHits: 2, isBlocked: false });
      const lowered = await storage.increment('changing', 60_000, 1, 0, 'default');
      expect(lowered.isBlocked).toBe(true);
    }
    expect(await keysOf(redis, services)).toHaveLength(before.length + 1);
    await redis.quit();
  });
});
