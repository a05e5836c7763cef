import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { Decision } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { historyOf, rulesFor, START } from '../support/histories.js';
import { PolicyModel } from '../support/reference-model.js';
import { keysOf, openRedis, openServices, type Services } from '../support/services.js';

const verdict = ({ allowed, retryAfterMs }: Pick<Decision, 'allowed' | 'retryAfterMs'>) => ({
  allowed,
  retryAfterMs,
});

describe('modules that share one Redis, as processes do', () => {
  const clock = new ManualClock(START);
  let processes: Services[];
  let redis: Redis;
  let subjects = 0;

  beforeAll(async () => {
    const first = await openServices('redis', { clock });
    const second = await openServices('redis', { clock, keyPrefix: first.keyPrefix });
    processes = [first, second];
    redis = openRedis();
  });
  afterAll(async () => {
    for (const one of processes) await one.close();
    redis.disconnect();
  });

  it('decide like one', async () => {
    const rule = fc.oneof(...Object.values(rulesFor('redis')));
    await fc.assert(
      fc.asyncProperty(
        historyOf(fc.array(rule, { minLength: 1, maxLength: 3 })),
        fc.infiniteStream(fc.nat(1)),
        async ({ rules, steps }, turns) => {
          const model = new PolicyModel(rules);
          const policy = { name: 'shared', rules };
          const subject = `s${subjects++}`;
          for (const { wait, cost } of steps) {
            clock.set(clock.now() + wait);
            const { limiter } = processes[turns.next().value]!;
            const decision = await limiter.consume(policy, subject, { cost });
            expect(verdict(decision)).toEqual(verdict(model.decide(cost, clock.now())));
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('count on one ring, whatever idle time lies between', async () => {
    const sliceMs = 10_000;
    const idle = fc.oneof(
      fc.constantFrom(0, 1, sliceMs - 1, sliceMs),
      // Whole turns of a ring of 3 slices, of 4, and of 2 × 3 + 1: positions alone look the same.
      fc.constantFrom(3, 4, 7, 14, 28, 1000).map((slices) => slices * sliceMs),
      fc.integer({ min: 0, max: 6 * sliceMs }),
    );
    const step = fc.record({ idle, by: fc.integer({ min: 1, max: 5 }), turn: fc.nat(1) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), async (steps) => {
        const key = `ring${subjects++}`;
        const counters = processes.map(({ windows }) =>
          windows.sliced(key, { slice: sliceMs, window: 3 * sliceMs }),
        );
        const counts = new Map<number, number>();
        for (const { idle, by, turn } of steps) {
          clock.set(clock.now() + idle);
          const slice = Math.floor(clock.now() / sliceMs);
          const expected = () => [3, 2, 1, 0].map((back) => counts.get(slice - back) ?? 0);
          const sum = (timeline: number[]) => timeline.reduce((total, count) => total + count, 0);
          // What is read before anything is written is not what was left there before the idle time.
          const reader = counters[1 - turn]!;
          expect(await reader.timeline()).toEqual(expected());
          expect(await reader.sliceValue()).toBe(counts.get(slice) ?? 0);
          expect(await reader.windowSum()).toBe(sum(expected()));
          counts.set(slice, (counts.get(slice) ?? 0) + by);
          expect(await counters[turn]!.increment(by)).toEqual({
            slice: counts.get(slice),
            window: sum(expected()),
          });
        }
      }),
      { numRuns: 60 },
    );
  });

  it('keep events of one millisecond apart', async () => {
    const policy = { name: 'burst', rules: [{ limit: 50, window: '1m' }] } as const;
    const decisions = await Promise.all(
      Array.from({ length: 60 }, (_, i) => processes[i % 2]!.limiter.consume(policy, 'u')),
    );
    expect(new Set(decisions.map(({ decidedAt }) => decidedAt)).size).toBe(1);
    expect(decisions.filter(({ allowed }) => allowed)).toHaveLength(50);
    const counts = await Promise.all(
      Array.from({ length: 60 }, (_, i) => processes[i % 2]!.windows.calculateCount('u', '1m')),
    );
    expect(counts.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, i) => i + 1));
  });

  it('a log of 1 000 entries takes at most 12 000 bytes', async () => {
    const [{ limiter }] = processes as [Services];
    const policy = { name: 'bytes', rules: [{ limit: 1000, window: '1h' }] } as const;
    for (let i = 0; i < 10; i++) {
      await Promise.all(
        Array.from({ length: 100 }, () => {
          clock.advance(1);
          return limiter.consume(policy, 'memory-usage');
        }),
      );
    }
    const keys = (await keysOf(redis, processes[0]!)).filter((key) => key.includes('memory-usage'));
    expect(keys).toHaveLength(1);
    expect(await redis.llen(keys[0]!)).toBe(1000);
    expect(await redis.memory('USAGE', keys[0]!, 'SAMPLES', 0)).toBeLessThanOrEqual(12_000);
  });

  it('a key of a foreign type fails its own decision, and not its neighbours', async () => {
    const [{ limiter, keyPrefix }] = processes as [Services];
    const one = { name: 'one', rules: '5/1m', onStoreError: 'deny' } as const;
    const mixed = {
      name: 'mixed',
      rules: ['5/1m', { algorithm: 'token-bucket', limit: 5, window: '1m' }],
      onStoreError: 'deny',
    } as const;
    for (const policy of [one, mixed]) {
      await limiter.consume(policy, 'broken');
      const keys = (await redis.keys(`${keyPrefix}:{${policy.name}|*broken*`)).sort();
      await redis.set(keys[0]!, 'not a list, and not 16 bytes');
      await redis.del(...keys.slice(1), 'none');
      const subjects = ['before', 'broken', 'after', 'broken', 'after'];
      const outcomes = await Promise.allSettled(
        subjects.map((subject) => limiter.consume(policy, subject)),
      );
      expect(outcomes.map(({ status }) => status)).toEqual([
        'fulfilled',
        'rejected',
        'fulfilled',
        'rejected',
        'fulfilled',
      ]);
      const last = outcomes[4] as PromiseFulfilledResult<Decision>;
      expect(last.value.policies[0]!.rules[0]!.remaining).toBe(3);
      // What failed has charged none of its other states.
      expect(await redis.exists(...keys.slice(1), 'none')).toBe(0);
    }
  });
});
