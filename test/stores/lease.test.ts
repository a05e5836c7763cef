import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import type { PolicyDefinition, RateLimiterService, Rule } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { openServices, type Services } from '../support/services.js';

const BUDGET: PolicyDefinition = {
  name: 'budget',
  rules: '10/10s',
  lease: { size: 4, ttl: '2s' },
};

describe('a lease', () => {
  let clock: ManualClock;
  let processes: Services[];

  beforeEach(async () => {
    clock = new ManualClock();
    processes = [await openServices('redis', { clock })];
    for (let i = 0; i < 2; i++) {
      processes.push(await openServices('redis', { clock, keyPrefix: processes[0]!.keyPrefix }));
    }
  });
  afterEach(async () => {
    await Promise.all(processes.map((one) => one.close()));
  });

  const limiterOf = (i: number): RateLimiterService => processes[i]!.limiter;
  const remaining = async (i: number, policy = BUDGET) =>
    (await limiterOf(i).peek(policy, 'all')).policies[0]!.rules[0]!.remaining;
  const consume = async (i: number, times: number, policy = BUDGET) => {
    const allowed: boolean[] = [];
    for (let n = 0; n < times; n++) {
      allowed.push((await limiterOf(i).consume(policy, 'all')).allowed);
    }
    return allowed.filter(Boolean).length;
  };

  it('takes a block in one call, and spends it without asking', async () => {
    const first = await limiterOf(0).consume(BUDGET, 'all');
    expect(first.policies[0]!.rules).toEqual([
      { limit: 10, windowMs: 10_000, remaining: 9, resetMs: 12_000, retryAfterMs: 0 },
    ]);
    expect(await remaining(0)).toBe(9);
    expect(await remaining(1)).toBe(6);
    await consume(0, 3);
    expect(await remaining(1)).toBe(6);
  });

  it('shares one booking among all who wait for it', async () => {
    await Promise.all(Array.from({ length: 4 }, () => limiterOf(0).consume(BUDGET, 'all')));
    expect(await remaining(1)).toBe(6);
  });

  it('admits the limit exactly where every block is spent', async () => {
    expect([await consume(0, 4), await consume(1, 4), await consume(2, 4)]).toEqual([4, 4, 2]);
    expect(await consume(0, 3)).toBe(0);
  });

  it('is told when to come back: when what was booked has left the longer window', async () => {
    for (let i = 0; i < 3; i++) await consume(i, 4);
    const denial = await limiterOf(0).consume(BUDGET, 'all');
    expect(denial).toMatchObject({ allowed: false, retryAfterMs: 12_000, violated: ['budget'] });
    clock.advance(11_999);
    expect((await limiterOf(0).consume(BUDGET, 'all')).allowed).toBe(false);
    clock.advance(1);
    expect((await limiterOf(0).consume(BUDGET, 'all')).allowed).toBe(true);
  });

  it('gives back at its end what is not spent', async () => {
    await consume(0, 1);
    expect(await remaining(1)).toBe(6);
    clock.advance('2s');
    for (let i = 0; i < 5; i++) await turn();
    expect(await remaining(1)).toBe(9);
  });

  it('gives back at shutdown what is not spent', async () => {
    await consume(0, 1);
    await processes.shift()!.close();
    expect(await remaining(0)).toBe(9);
  });

  it('takes a larger cost than a block at once, and refuses one above the limit for ever', async () => {
    expect((await limiterOf(0).consume(BUDGET, 'all', { cost: 6 })).allowed).toBe(true);
    expect(await remaining(1)).toBe(4);
    expect((await limiterOf(0).consume(BUDGET, 'all', { cost: 11 })).retryAfterMs).toBeNull();
  });

  it('takes back what a request did not use, into the block or into the budget', async () => {
    const decision = await limiterOf(0).consume(BUDGET, 'all');
    await limiterOf(0).refund(decision);
    expect([await remaining(0), await remaining(1)]).toEqual([10, 6]);
    const late = await limiterOf(0).consume(BUDGET, 'all');
    clock.advance('2s');
    for (let i = 0; i < 5; i++) await turn();
    await limiterOf(0).refund(late);
    expect(await remaining(1)).toBe(10);
  });

  it('is forgotten with a reset, and ended by a block', async () => {
    await consume(0, 1);
    await limiterOf(0).reset(BUDGET, 'all');
    expect(await remaining(0)).toBe(10);
    await consume(0, 1);
    await limiterOf(0).block(BUDGET, 'all', '1m');
    expect((await limiterOf(0).consume(BUDGET, 'all')).retryAfterMs).toBe(60_000);
    await limiterOf(0).unblock(BUDGET, 'all');
    expect(await remaining(1)).toBe(9);
  });

  it('keeps nobody out for a block that is not there, while a unit is', async () => {
    const strict: PolicyDefinition = { ...BUDGET, name: 'strict', blockFor: '10m' };
    expect(await consume(0, 4, strict)).toBe(4);
    expect(await consume(1, 4, strict)).toBe(4);
    expect(await consume(2, 2, strict)).toBe(2);
    expect((await limiterOf(2).consume(strict, 'all')).retryAfterMs).toBe(600_000);
  });

  it('ends with the window of a fixed-window rule', async () => {
    const aligned: PolicyDefinition = {
      name: 'aligned',
      rules: { algorithm: 'fixed-window', limit: 10, window: '10s' },
      lease: { size: 4, ttl: '5s' },
    };
    clock.set(Math.ceil(clock.now() / 10_000) * 10_000 + 9_000);
    await consume(0, 1, aligned);
    clock.advance('1s');
    // The units of the old window are not spent in the new one.
    expect(await consume(0, 1, aligned)).toBe(1);
    expect(await remaining(1, aligned)).toBe(6);
  });

  it.each<[string, Rule]>([
    ['sliding-log', { limit: 7, window: 5000 }],
    ['sliding-counter', { algorithm: 'sliding-counter', limit: 7, window: 5000, slices: 5 }],
  ])(
    'keeps the limit in every window over all processes, by %s',
    async (_, rule) => {
      let runs = 0;
      const step = fc.record({
        process: fc.nat(2),
        requests: fc.integer({ min: 1, max: 6 }),
        ms: fc.constantFrom(0, 1, 400, 799, 800, 801, 2500, 5000),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 30 }), async (steps) => {
          const policy: PolicyDefinition = {
            name: `run${runs++}`,
            rules: rule,
            lease: { size: 3, ttl: 800 },
          };
          const admitted: number[] = [];
          for (const { process, requests, ms } of steps) {
            for (let i = 0; i < requests; i++) {
              const { allowed } = await limiterOf(process).consume(policy, 'all');
              if (allowed) admitted.push(clock.now());
            }
            clock.set(clock.now() + ms);
            await turn();
          }
          for (const at of admitted) {
            const inWindow = admitted.filter((one) => one >= at && one < at + 5000);
            expect(inWindow.length).toBeLessThanOrEqual(7);
          }
        }),
        { numRuns: 40 },
      );
    },
    60_000,
  );

  it.each([
    ['longer than its window', { ttl: '11s', size: 4 }, 'SW_BAD_VALUE', '10/10s'],
    ['larger than its limit', { ttl: '1s', size: 11 }, 'SW_BAD_VALUE', '10/10s'],
    ['of nothing', { ttl: '1s', size: 0 }, 'SW_BAD_VALUE', '10/10s'],
    [
      'on a token bucket',
      { ttl: '1s', size: 1 },
      'SW_NOT_LEASABLE',
      { algorithm: 'token-bucket', limit: 9, window: '1s' },
    ],
  ] as [string, PolicyDefinition['lease'], string, Rule][])(
    'is refused at boot when it is %s',
    async (_, lease, code, rules) => {
      const failure = await openServices('redis', { policies: { all: { rules, lease } } }).catch(
        (error: unknown) => error,
      );
      expect(failure).toMatchObject({ code, path: expect.stringContaining('lease') });
    },
  );

  it('changes nothing in process, where units cost no call', async () => {
    const alone = await openServices('memory', { clock });
    const decision = await alone.limiter.consume(BUDGET, 'all');
    expect(decision.policies[0]!.rules[0]).toMatchObject({ remaining: 9, resetMs: 10_000 });
    await alone.close();
  });
});
