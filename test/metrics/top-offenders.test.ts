import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { TopOffenders } from '../../lib/index.js';

describe('the top offenders', () => {
  it('are exact while there is room', () => {
    const offenders = new TopOffenders(3);
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) offenders.record(key);
    expect(offenders.top(2)).toEqual([
      { key: 'a', count: 3, error: 0 },
      { key: 'b', count: 2, error: 0 },
    ]);
  });

  it('are never counted too low, nor too high by more than their error and the bound', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(30), fc.integer({ min: 1, max: 5 })), { maxLength: 300 }),
        fc.integer({ min: 1, max: 12 }),
        (seen, capacity) => {
          const offenders = new TopOffenders(capacity);
          const truth = new Map<string, number>();
          let total = 0;
          for (const [name, weight] of seen) {
            offenders.record(`${name}`, weight);
            truth.set(`${name}`, (truth.get(`${name}`) ?? 0) + weight);
            total += weight;
          }
          const top = offenders.top(capacity);
          expect(top.length).toBe(Math.min(capacity, truth.size));
          for (const { key, count, error } of top) {
            expect(count).toBeGreaterThanOrEqual(truth.get(key)!);
            expect(count - error).toBeLessThanOrEqual(truth.get(key)!);
            expect(error).toBeLessThanOrEqual(total / capacity);
          }
          const kept = new Set(top.map(({ key }) => key));
          for (const [key, count] of truth) {
            if (count > total / capacity) expect(kept.has(key)).toBe(true);
          }
        },
      ),
    );
  });

  it.each([[0], [1.5], [-1], [NaN], ['10']])('refuse a capacity of %p', (capacity) => {
    expect(() => new TopOffenders(capacity as number)).toThrow(/^capacity: /);
  });
});
