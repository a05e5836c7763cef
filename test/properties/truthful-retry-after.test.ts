import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { historyOf, rulesFor, START } from '../support/histories.js';
import { openServices, type Services, STORES } from '../support/services.js';

describe.each(STORES)('retryAfterMs of the %s store', (store) => {
  const clock = new ManualClock();
  let services: Services;
  let subjects = 0;

  beforeAll(async () => {
    services = await openServices(store, { clock });
  });
  afterAll(() => services.close());

  it('is truthful: denied at every earlier millisecond, admitted at that one', async () => {
    const rule = fc.oneof(...Object.values(rulesFor(store)));
    await fc.assert(
      fc.asyncProperty(
        historyOf(fc.array(rule, { minLength: 1, maxLength: 3 })),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        async ({ rules, steps }, fractions) => {
          const policy = { name: 'truth', rules };
          const subject = `s${subjects++}`;
          clock.set(START);
          for (const { wait, cost } of steps) {
            clock.set(clock.now() + wait);
            const denial = await services.limiter.consume(policy, subject, { cost });
            if (denial.allowed) continue;
            const { retryAfterMs } = denial;
            if (retryAfterMs === null) {
              expect(rules.some((one) => cost > one.limit)).toBe(true);
              continue;
            }
            // Towards that moment in a few strides of any length, the last of them to just before it.
            const end = clock.now() + retryAfterMs;
            const strides = store === 'memory' ? 6 : 2;
            for (let i = 0; i < strides; i++) {
              const left = end - 1 - clock.now();
              const fraction = i === strides - 1 ? 1 : fractions.next().value;
              clock.set(clock.now() + Math.floor(left * fraction));
              const early = await services.limiter.consume(policy, subject, { cost });
              expect(early).toMatchObject({ allowed: false, retryAfterMs: end - clock.now() });
            }
            clock.set(end);
            expect(await services.limiter.consume(policy, subject, { cost })).toMatchObject({
              allowed: true,
              retryAfterMs: null,
            });
          }
        },
      ),
      { numRuns: store === 'memory' ? 500 : 100 },
    );
  });

  it('is truthful for a block as well', async () => {
    const policy = { name: 'blocked', rules: [{ limit: 5, window: '1m' }] } as const;
    await services.limiter.block(policy, 'u', '10s');
    clock.advance(9_999);
    expect(await services.limiter.consume(policy, 'u')).toMatchObject({
      allowed: false,
      retryAfterMs: 1,
    });
    clock.advance(1);
    expect((await services.limiter.consume(policy, 'u')).allowed).toBe(true);
  });
});
