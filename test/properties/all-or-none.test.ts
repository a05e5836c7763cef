import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { Rule } from '../../lib/index.js';
import { chargeOf, compilePolicy } from '../../lib/limiting/policies.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { historyOf, rulesFor, START } from '../support/histories.js';
import { keysOf, openRedis, openServices, type Services } from '../support/services.js';

describe('a decision charges all rules or none', () => {
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

  /** Every key with its bytes and the instant at which it expires. */
  async function state() {
    const keys = await keysOf(redis, services);
    return Promise.all(
      keys.map(async (key) => ({
        key,
        bytes: (await redis.dumpBuffer(key))?.toString('hex'),
        expires: await redis.call('PEXPIRETIME', key),
      })),
    );
  }

  const wide = {
    'sliding-log': { algorithm: 'sliding-log', limit: 9, window: '1m' },
    'fixed-window': { algorithm: 'fixed-window', limit: 9, window: '1m' },
    'sliding-counter': { algorithm: 'sliding-counter', limit: 9, window: '1m', slices: 6 },
    'token-bucket': { algorithm: 'token-bucket', limit: 9, window: '1m', refill: 9 },
  } as const;

  it.each(Object.keys(wide) as (keyof typeof wide)[])(
    'leaves every byte as it was when %s denies',
    async (denier) => {
      // The others hold more, so that a rule before and a rule after the denier would admit.
      const rules: Rule[] = Object.values({ ...wide, [denier]: { ...wide[denier], limit: 2 } });
      const sorted = rules.filter((rule) => (rule as { limit: number }).limit === 9);
      const policy = {
        name: `deny-${denier}`,
        rules: [sorted[0]!, { ...wide[denier], limit: 2, window: '30s' } as Rule, sorted[1]!],
      };
      const subject = `u${subjects++}`;
      await services.limiter.consume(policy, subject, { cost: 2 });
      const before = await state();
      expect(before.filter(({ key }) => key.includes(subject))).toHaveLength(3);
      clock.advance('1s');
      for (const cost of [1, 2, 3]) {
        const denial = await services.limiter.consume(policy, subject, { cost });
        expect(denial.allowed).toBe(false);
        expect(await state()).toEqual(before);
      }
    },
  );

  it('charges no policy when one of them denies', async () => {
    const compiled = (name: string, rule: Rule) =>
      compilePolicy({ name, rules: rule }, { onStoreError: 'local', shadow: false }, name);
    const policies = [
      compiled('first', wide['sliding-log']),
      compiled('second', { ...wide['token-bucket'], limit: 1, refill: 1 }),
      compiled('third', wide['fixed-window']),
    ];
    const charges = () => policies.map((policy) => chargeOf(policy, 'u', 1));
    expect((await services.limiter.decide(charges())).allowed).toBe(true);
    const before = await state();
    clock.advance('1s');
    const denial = await services.limiter.decide(charges());
    expect(denial).toMatchObject({ allowed: false, violated: ['second'] });
    expect(await state()).toEqual(before);
  });

  it('changes nothing by a denial or a look, whatever came before', async () => {
    const rule = fc.oneof(...Object.values(rulesFor('redis')));
    await fc.assert(
      fc.asyncProperty(
        historyOf(fc.array(rule, { minLength: 1, maxLength: 3 })),
        async ({ rules, steps }) => {
          const policy = { name: 'any', rules };
          const subject = `p${subjects++}`;
          const dump = async () =>
            (await state()).filter(({ key }) => key.includes(`|${subject}}`));
          for (const { wait, cost } of steps.slice(0, 12)) {
            clock.set(clock.now() + wait);
            const before = await dump();
            await services.limiter.peek(policy, subject);
            expect(await dump()).toEqual(before);
            const { allowed } = await services.limiter.consume(policy, subject, { cost });
            if (!allowed || cost === 0) expect(await dump()).toEqual(before);
          }
          await services.limiter.reset(policy, subject);
          expect(await dump()).toEqual([]);
        },
      ),
      { numRuns: 40 },
    );
  });
});
