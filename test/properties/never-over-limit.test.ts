import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { historyOf, rulesFor, START } from '../support/histories.js';
import { mostInAnyWindow } from '../support/reference-model.js';
import { openServices, type Services, STORES } from '../support/services.js';

describe.each(STORES)('in the %s store', (store) => {
  const clock = new ManualClock();
  const runs = { numRuns: store === 'memory' ? 400 : 60 };
  let services: Services;
  let subjects = 0;

  beforeAll(async () => {
    services = await openServices(store, { clock });
  });
  afterAll(() => services.close());

  it.each(['sliding-log', 'sliding-counter'] as const)(
    'a %s never admits more than its limit in any window',
    async (algorithm) => {
      await fc.assert(
        fc.asyncProperty(
          historyOf(fc.tuple(rulesFor(store)[algorithm])),
          async ({ rules, steps }) => {
            const policy = { name: 'hard', rules };
            const subject = `s${subjects++}`;
            const admitted: number[] = [];
            clock.set(START);
            for (const { wait, cost } of steps) {
              clock.set(clock.now() + wait);
              const { allowed } = await services.limiter.consume(policy, subject, { cost });
              if (allowed) for (let i = 0; i < cost; i++) admitted.push(clock.now());
            }
            expect(mostInAnyWindow(admitted, Number(rules[0]!.window))).toBeLessThanOrEqual(
              rules[0]!.limit,
            );
          },
        ),
        runs,
      );
    },
  );

  it('a sliding-counter refuses at most one slice too long', async () => {
    const whole = fc
      .record({
        limit: fc.integer({ min: 1, max: 6 }),
        slices: fc.integer({ min: 1, max: 8 }),
        sliceMs: fc.integer({ min: 3000, max: 6000 }),
      })
      .map(({ limit, slices, sliceMs }) => ({
        algorithm: 'sliding-counter' as const,
        limit,
        slices,
        window: slices * sliceMs,
      }));
    await fc.assert(
      fc.asyncProperty(historyOf(fc.tuple(whole)), async ({ rules, steps }) => {
        const [rule] = rules as [ReturnType<typeof whole.generate>['value']];
        const sliceMs = rule.window / rule.slices;
        const policy = { name: 'hard', rules };
        const subject = `s${subjects++}`;
        const admitted: number[] = [];
        clock.set(START);
        for (const { wait, cost } of steps) {
          clock.set(clock.now() + wait);
          const now = clock.now();
          const { allowed } = await services.limiter.consume(policy, subject, { cost });
          const lately = admitted.filter((at) => at > now - rule.window - sliceMs).length;
          if (!allowed) expect(lately + cost).toBeGreaterThan(rule.limit);
          else for (let i = 0; i < cost; i++) admitted.push(now);
        }
      }),
      runs,
    );
  });

  it('a fixed-window admits its limit on both sides of an edge, and no more', async () => {
    const policy = {
      name: 'edge',
      rules: [{ algorithm: 'fixed-window', limit: 3, window: '1m' }],
    } as const;
    clock.set(Math.ceil(START / 60_000) * 60_000 - 1);
    const ask = async () => (await services.limiter.consume(policy, 'u')).allowed;
    expect([await ask(), await ask(), await ask(), await ask()]).toEqual([true, true, true, false]);
    clock.advance(1);
    expect([await ask(), await ask(), await ask(), await ask()]).toEqual([true, true, true, false]);
  });

  it('a token-bucket never admits more than its limit and what has been refilled', async () => {
    await fc.assert(
      fc.asyncProperty(
        historyOf(fc.tuple(rulesFor(store)['token-bucket'])),
        async ({ rules, steps }) => {
          const rule = rules[0] as { limit: number; refill: number; window: number };
          const policy = { name: 'bucket', rules };
          const subject = `s${subjects++}`;
          const admitted: { at: number; cost: number }[] = [];
          clock.set(START);
          for (const { wait, cost } of steps) {
            clock.set(clock.now() + wait);
            const { allowed } = await services.limiter.consume(policy, subject, { cost });
            if (allowed) admitted.push({ at: clock.now(), cost });
          }
          for (const [i, first] of admitted.entries()) {
            let units = 0;
            for (const { at, cost } of admitted.slice(i)) {
              units += cost;
              const most = rule.limit * rule.window + rule.refill * (at - first.at);
              expect(units * rule.window).toBeLessThanOrEqual(most);
            }
          }
        },
      ),
      runs,
    );
  });
});
