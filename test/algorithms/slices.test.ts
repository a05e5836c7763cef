import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { addToSlice, readSlices, type SliceRing } from '../../lib/algorithms/slice-ring.js';
import { advance, newSlices, slicesSum, stepBack } from '../../lib/algorithms/slices.js';

describe('a ring of slices', () => {
  it('holds the counts of absolute slices, wherever it is moved', () => {
    const slices = 4;
    const move = fc.record({
      by: fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constantFrom(100, 1e6)),
      add: fc.nat(5),
    });
    fc.assert(
      fc.property(fc.array(move, { maxLength: 30 }), (moves) => {
        const counts = new Map<number, number>();
        let ring: SliceRing | undefined;
        let present = 1000;
        for (const { by, add } of moves) {
          present += by;
          counts.set(present, (counts.get(present) ?? 0) + add);
          const added = addToSlice(ring, 1, slices, add, present);
          ring = added.ring;
          const expected = [4, 3, 2, 1, 0].map((back) => counts.get(present - back) ?? 0);
          expect(readSlices(ring, 1, slices, present)).toEqual(expected);
          expect(added.window).toBe(expected.reduce((sum, count) => sum + count));
          expect(added.slice).toBe(counts.get(present));
        }
      }),
    );
  });

  it('counts what lies after a step back in the present slice, and keeps what lies before', () => {
    const ring = newSlices(2, 4, 10);
    ring.counts.set([1, 2, 3, 4, 5]);
    ring.sums.splice(0, 2, 15, 12);
    expect(stepBack(ring, [4, 2], 8)).toEqual({
      last: 8,
      sums: [15, 15],
      counts: Float64Array.from([0, 0, 1, 2, 12]),
    });
    expect(stepBack(ring, [4, 2], -1000)).toEqual({
      last: -1000,
      sums: [15, 15],
      counts: Float64Array.from([0, 0, 0, 0, 15]),
    });
    // A check must not change what it looks at.
    expect(ring.last).toBe(10);
  });

  it('knows the sums of several windows as of a later slice', () => {
    const ring = newSlices(2, 4, 10);
    ring.counts.set([1, 2, 3, 4, 5]);
    ring.sums.splice(0, 2, 15, 12);
    expect([11, 12, 14, 15].map((slice) => slicesSum(ring, 0, 4, slice))).toEqual([14, 12, 5, 0]);
    expect([11, 12, 13].map((slice) => slicesSum(ring, 1, 2, slice))).toEqual([9, 5, 0]);
    advance(ring, 12, [12, 5]);
    expect(Array.from(ring.counts)).toEqual([3, 4, 5, 0, 0]);
  });

  it('refuses to count beyond exact integers', () => {
    const { ring } = addToSlice(undefined, 1, 4, Number.MAX_SAFE_INTEGER, 5);
    expect(() => addToSlice(ring, 1, 4, 1, 6)).toThrow(RangeError);
    expect(readSlices(ring, 1, 4, 6)).toEqual([0, 0, 0, Number.MAX_SAFE_INTEGER, 0]);
  });
});
