import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Decision } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { historyOf, rulesFor, START, type Step } from '../support/histories.js';
import { type PlainRule, PolicyModel } from '../support/reference-model.js';
import { openServices, type Services, type StoreName, STORES } from '../support/services.js';

const oneOrMore = (rule: fc.Arbitrary<PlainRule>) => fc.array(rule, { minLength: 1, maxLength: 3 });

function casesFor(store: StoreName): [string, fc.Arbitrary<readonly PlainRule[]>][] {
  const rules = rulesFor(store);
  return [
    ...Object.entries(rules).map(([name, rule]): [string, fc.Arbitrary<readonly PlainRule[]>] => [
      name,
      oneOrMore(rule),
    ]),
    ['a policy of several algorithms', oneOrMore(fc.oneof(...Object.values(rules)))],
  ];
}

/** A decision as far as the model knows it. */
function seen({ allowed, retryAfterMs, policies }: Decision) {
  return {
    allowed,
    retryAfterMs,
    rules: policies[0]!.rules.map(({ remaining, resetMs, retryAfterMs }) => ({
      remaining,
      resetMs,
      retryAfterMs,
    })),
  };
}

describe.each(STORES)('the %s store decides like a naive model', (store) => {
  const clock = new ManualClock();
  let services: Services;
  let subjects = 0;

  beforeAll(async () => {
    services = await openServices(store, { clock });
  });
  afterAll(() => services.close());

  async function follow(rules: readonly PlainRule[], steps: readonly Step[]) {
    const model = new PolicyModel(rules);
    const policy = { name: 'model', rules };
    const subject = `s${subjects++}`;
    clock.set(START);
    for (const { wait, cost } of steps) {
      clock.set(clock.now() + wait);
      const now = clock.now();
      expect(seen(await services.limiter.peek(policy, subject))).toEqual(
        model.decide(1, now, false),
      );
      const decision = await services.limiter.consume(policy, subject, { cost });
      expect(seen(decision)).toEqual(model.decide(cost, now));
      expect(decision.decidedAt).toBe(now);
    }
  }

  it.each(casesFor(store))('%s', async (_, rules) => {
    await fc.assert(
      fc.asyncProperty(historyOf(rules), ({ rules, steps }) => follow(rules, steps)),
      { numRuns: store === 'memory' ? 400 : 100 },
    );
  });

  it('token-bucket with numbers as large as are accepted', async () => {
    const large = fc
      .record({
        window: fc.integer({ min: 1, max: 365 * 86_400_000 }),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
        refill: fc.constantFrom(1, 2, 3, 7, 1000, 285_000),
      })
      .map(({ window, share, refill }) => ({
        algorithm: 'token-bucket' as const,
        window,
        limit: Math.max(1, Math.floor((Number.MAX_SAFE_INTEGER / window) * share)),
        refill,
      }));
    await fc.assert(
      fc.asyncProperty(
        large.chain((rule) => {
          const part = fc.integer({ min: 1, max: rule.limit });
          return fc.record({
            rules: fc.constant([rule]),
            steps: fc.array(fc.record({ wait: fc.integer({ min: 0, max: 10_000 }), cost: part }), {
              minLength: 2,
              maxLength: 6,
            }),
          });
        }),
        ({ rules, steps }) => follow(rules, steps),
      ),
      { numRuns: 200 },
    );
  });
});
