import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Rule } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { openServices, type Services, STORES } from '../support/services.js';

const rules = {
  'sliding-log': { limit: 10, window: '1m' },
  'fixed-window': { algorithm: 'fixed-window', limit: 10, window: '1m' },
  'sliding-counter': { algorithm: 'sliding-counter', limit: 10, window: '1m', slices: 6 },
  'token-bucket': { algorithm: 'token-bucket', limit: 10, refill: 10, window: '1m' },
} as const;

describe.each(STORES)('rules that change between two decisions, in the %s store', (store) => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1));
  let services: Services;
  let subjects = 0;
  let subject: string;

  beforeAll(async () => {
    services = await openServices(store, { clock });
  });
  afterAll(() => services.close());
  beforeEach(() => {
    subject = `s${subjects++}`;
  });

  const consume = (rule: Rule | readonly Rule[], cost: number) =>
    services.limiter.consume({ name: 'changed', rules: rule }, subject, { cost });

  it.each(Object.entries(rules))('a changed limit applies at once: %s', async (_, rule) => {
    expect((await consume(rule, 6)).allowed).toBe(true);
    const lower = await consume({ ...rule, limit: 4 }, 1);
    expect(lower.allowed).toBe(false);
    expect(lower.policies[0]!.rules[0]!.remaining).toBe(0);
    // Truthful also for what was taken under another limit.
    clock.advance(lower.retryAfterMs! - 1);
    expect((await consume({ ...rule, limit: 4 }, 1)).allowed).toBe(false);
    clock.advance(1);
    expect((await consume({ ...rule, limit: 4 }, 1)).allowed).toBe(true);
  });

  it.each(Object.entries(rules))('a raised limit applies at once: %s', async (_, rule) => {
    await consume(rule, 10);
    expect((await consume(rule, 1)).allowed).toBe(false);
    const higher = await consume({ ...rule, limit: 20 }, 10);
    expect(higher.allowed).toBe(true);
    expect(higher.policies[0]!.rules[0]!.remaining).toBe(0);
  });

  it.each(Object.entries(rules))('a changed window inherits nothing: %s', async (_, rule) => {
    await consume(rule, 10);
    const other = await consume({ ...rule, window: '2m' }, 1);
    expect(other.policies[0]!.rules[0]).toMatchObject({ remaining: 9, windowMs: 120_000 });
  });

  it('a changed algorithm inherits nothing', async () => {
    for (const rule of Object.values(rules)) {
      const first = await consume(rule, 10);
      expect(first.allowed).toBe(true);
    }
  });

  it('a shorter window beside the longest one sees what has been counted', async () => {
    const { 'sliding-log': rule } = rules;
    await consume(rule, 3);
    const both = await consume([rule, { limit: 4, window: '10s' }], 1);
    expect(both.policies[0]!.rules.map(({ remaining }) => remaining)).toEqual([6, 0]);
  });
});
