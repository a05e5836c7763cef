import { describe, expect, it } from '@jest/globals';
import { compilePlan, samePlan } from '../../lib/algorithms/plan.js';
import { parseRules } from '../../lib/rules/policy.js';

const planOf = (rules: unknown) => compilePlan('p', parseRules(rules, 'rules'), 'rules');
const suffixes = (rules: unknown) => planOf(rules).states.map(({ suffix }) => suffix);

describe('a plan', () => {
  it('has one state per algorithm, and knows the place of each rule', () => {
    const plan = planOf([
      '5/s',
      { algorithm: 'token-bucket', limit: 5, window: '1m' },
      { limit: 50, window: '1m' },
      { algorithm: 'fixed-window', limit: 500, window: '1h' },
    ]);
    expect(plan.states.map(({ suffix, order }) => [suffix, order])).toEqual([
      ['fixed-window.3600000', [3]],
      // The longest window first: its log holds what the shorter one needs.
      ['sliding-log.60000', [2, 0]],
      ['token-bucket.60000', [1]],
    ]);
  });

  it('keeps its state when only a limit changes', () => {
    for (const algorithm of ['sliding-log', 'fixed-window', 'sliding-counter', 'token-bucket']) {
      const rule = { algorithm, limit: 5, window: '1m' };
      expect(suffixes(rule)).toEqual(suffixes({ ...rule, limit: 9 }));
    }
  });

  it('has another state when window, slices or algorithm change', () => {
    const counter = { algorithm: 'sliding-counter', limit: 5, window: '1m', slices: 6 };
    const all = [
      ...['sliding-log', 'fixed-window', 'sliding-counter', 'token-bucket'].flatMap((algorithm) => [
        suffixes({ algorithm, limit: 5, window: '1m' }),
        suffixes({ algorithm, limit: 5, window: '2m' }),
      ]),
      suffixes(counter),
      suffixes({ ...counter, slices: 12 }),
      suffixes([counter, { ...counter, window: '10s', slices: 1 }]),
    ].map(String);
    expect(new Set(all).size).toBe(all.length);
  });

  it('puts the windows of one slice length on one ring', () => {
    const counter = { algorithm: 'sliding-counter' };
    const plan = planOf([
      { ...counter, limit: 1, window: '1m', slices: 1 },
      { ...counter, limit: 9, window: '1h', slices: 60 },
    ]);
    expect(plan.states[0]!.numbers).toEqual([9, 60_000, 60, 60, 1, 60_000, 1, 60]);
    expect(plan.states[0]!.order).toEqual([1, 0]);
  });

  it('is the same for every way of writing it', () => {
    expect(samePlan(planOf('5/1m'), planOf([{ limit: 5, window: 60_000 }]))).toBe(true);
    expect(samePlan(planOf('5/1m'), planOf('6/1m'))).toBe(false);
    expect(samePlan(planOf('5/1m'), planOf(['5/1m', '9/1h']))).toBe(false);
    expect(
      samePlan(planOf('5/1m'), planOf({ algorithm: 'fixed-window', limit: 5, window: '1m' })),
    ).toBe(false);
  });
});
