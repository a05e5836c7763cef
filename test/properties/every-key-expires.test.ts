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
          let blocked = 0;
          for (const { wait, cost } of steps.slice(0, 20)) {
            clock.set(clock.now() + wait);
            const next = operations.next().value;
            if (next === 'block') await limiter.block(policy, subject, BLOCK_MS);
            else if (next === 'unblock') await limiter.unblock(policy, subject);
            else if (next === 'refund' && taken.length > 0) await limiter.refund(taken.pop()!);
            else {
              if (next === 'back') {
                clock.set(clock.now() - 5000);
                // A block ends at its instant, which is further away now.
                if (blocked > 0) blocked += 5000;
              }
              const decision = await limiter.consume(policy, subject, { cost });
              if (decision.allowed) taken.push(decision);
            }
            if (next === 'block') blocked = Math.max(blocked, BLOCK_MS + GRACE_MS);
            await expectLives(Math.max(most, blocked));
          }
          await limiter.reset(policy, subject);
          expect(await lives()).toEqual([]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('not before a log can be empty, though not every charge moves the expiry', async () => {
    const ofServer = await openServices('redis', { keyPrefix: services.keyPrefix });
    const window = 80_000;
    const eighth = window / 8;
    const operation = fc.constantFrom('consume', 'consume', 'refund', 'block', 'unblock', 'ahead');
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 2, maxLength: 16 }), async (operations) => {
        const policy = { name: 'log', rules: [{ limit: 2, window }] };
        const subject = `l${subjects++}`;
        const taken: Decision[] = [];
        for (const next of operations) {
          const [key] = await keysOf(redis, services);
          if (next === 'block') await ofServer.limiter.block(policy, subject, 1);
          else if (next === 'unblock') await ofServer.limiter.unblock(policy, subject);
          else if (next === 'refund' && taken.length > 0)
            await ofServer.limiter.refund(taken.pop()!);
          else if (next === 'ahead' && key !== undefined) {
            // A block stands last, and is no entry.
            const last = Number(await redis.lindex(key, -1));
            if (last > 0) await redis.rpush(key, String(Math.max(last, Date.now() + 5000)));
          } else {
            const decision = await ofServer.limiter.consume(policy, subject);
            if (!decision.allowed) continue;
            taken.push(decision);
            const [life] = await lives();
            const expiresAt = Date.now() + life!;
            // Long enough for whatever is charged until the next charge that moves it.
            const movedAt = (Math.floor(decision.decidedAt / eighth) + 1) * eighth;
            expect(expiresAt).toBeGreaterThanOrEqual(movedAt + window);
            expect(expiresAt).toBeLessThanOrEqual(decision.decidedAt + 2 * window + GRACE_MS);
          }
        }
        await ofServer.limiter.reset(policy, subject);
      }),
      { numRuns: 200 },
    );
    // Redis has decided it all.
    expect(ofServer.events.filter(({ type }) => type !== 'self-check')).toEqual([]);
    await ofServer.close();
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
