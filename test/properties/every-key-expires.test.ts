import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { Decision } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { historyOf, rulesFor, START } from '../support/histories.js';
import type { PlainRule } from '../support/reference-model.js';
import { keysOf, openRedis, openServices, type Services } from '../support/services.js';

const GRACE_MS = 1000;
const BLOCK_MS = 90_000;

/** At most two windows and a second; a bucket until it is full and a second. */
function longestLife(rules: readonly PlainRule[]): number {
  const lives = rules.map((rule) => {
    const window = Number(rule.window);
    return rule.algorithm === 'token-bucket'
      ? Math.ceil((rule.limit * window) / rule.refill!)
      : 2 * window;
  });
  return Math.max(...lives) + GRACE_MS;
}

describe('every key that is written expires', () => {
  const clock = new ManualClock(START);
  let services: Services;
  let redis: Redis;
  let subjects = 0;

  beforeAll(async () => {
    services = await openServices('redis', { clock });
    redis = openRedis();
  });
  afterAll(async () => {
    await services.close();
    redis.disconnect();
  });

  /** Milliseconds each key has left; -1: for ever. */
  async function lives(): Promise<number[]> {
    const keys = await keysOf(redis, services);
    return Promise.all(keys.map((key) => redis.pttl(key)));
  }

  async function expectLives(most: number) {
    for (const life of await lives()) {
      expect(life).toBeGreaterThan(0);
      expect(life).toBeLessThanOrEqual(most);
    }
  }

  it('after any decision, refund, block and step back of the clock', async () => {
    const operation = fc.constantFrom(
      ...['consume', 'consume', 'consume', 'refund', 'block', 'unblock', 'back'],
    );
    const rule = fc.oneof(...Object.values(rulesFor('redis')));
    await fc.assert(
      fc.asyncProperty(
        historyOf(fc.array(rule, { minLength: 1, maxLength: 3 })),
        fc.infiniteStream(operation),
        async ({ rules, steps }, operations) => {
          const { limiter } = services;
          const policy = { name: 'any', rules };
          const subject = `p${subjects++}`;
          const taken: Decision[] = [];
          const most = longestLife(rules);
          let blocked = false;
          // A block ends at its instant, so it lasts as much longer as the clock has stepped back.
          let backMs = 0;
          for (const { wait, cost } of steps.slice(0, 20)) {
            clock.set(clock.now() + wait);
            const next = operations.next().value;
            if (next === 'block') await limiter.block(policy, subject, BLOCK_MS);
            else if (next === 'unblock') await limiter.unblock(policy, subject);
            else if (next === 'refund' && taken.length > 0) await limiter.refund(taken.pop()!);
            else {
              if (next === 'back') {
                clock.set(clock.now() - 5000);
                backMs += 5000;
              }
              const decision = await limiter.consume(policy, subject, { cost });
              if (decision.allowed) taken.push(decision);
            }
            blocked ||= next === 'block';
            await expectLives(blocked ? Math.max(most, BLOCK_MS + backMs + GRACE_MS) : most);
          }
          await limiter.reset(policy, subject);
          expect(await lives()).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('with a block that a denial has set', async () => {
    const rules = [{ limit: 1, window: '10s' }] as const;
    const policy = { name: 'block-for', rules, blockFor: BLOCK_MS };
    await services.limiter.consume(policy, 'u');
    await services.limiter.consume(policy, 'u');
    const [life, ...others] = await lives();
    expect(others).toEqual([]);
    expect(life).toBeGreaterThan(BLOCK_MS - 5000);
    expect(life).toBeLessThanOrEqual(BLOCK_MS + GRACE_MS);
    await services.limiter.reset(policy, 'u');
  });

  it('after any use of a counter', async () => {
    const { windows } = services;
    await windows.calculateCount('c', '10s');
    await windows.keepCalculate('c', '30s', 9);
    // A look through a shorter window does not shorten the life of what a longer one counts.
    await windows.calculateCount('c', '1s', { id: 'once' });
    await windows.remove('c', 'once');
    await expectLives(30_000 + GRACE_MS);
    expect((await lives())[0]).toBeGreaterThan(25_000);
    await windows.clear('c');
    const counter = windows.sliced('c', { slice: '5s', window: '30s' });
    await counter.increment();
    clock.set(clock.now() - 60_000);
    await counter.increment();
    await expectLives(2 * 30_000 + GRACE_MS);
    await counter.clear();
    expect(await lives()).toEqual([]);
  });

  it('and reading writes none', async () => {
    const { limiter, windows } = services;
    const policy = { name: 'read', rules: [{ limit: 1, window: '10s' }] } as const;
    const counter = windows.sliced('read', { slice: '5s', window: '30s' });
    await limiter.peek(policy, 'u');
    await limiter.unblock(policy, 'u');
    await limiter.reset(policy, 'u');
    await windows.count('read', '10s');
    await windows.timeline('read', '10s', 5);
    await windows.remove('read', 'x');
    await counter.windowSum();
    await counter.sliceValue();
    await counter.timeline();
    expect(await lives()).toEqual([]);
  });
});
