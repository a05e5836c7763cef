/**
 * Counts per slice of time, oldest first, ending at the slice written last; twin of lua/slices.lua.
 *
 * Absolute slice numbers are kept, never positions alone: after any idle time it is known how many
 * slices have passed. A window of n slices at slice s is the sum over [s - n, s], n + 1 slices: the
 * oldest, partly expired one counts whole, so the sum is never below the exact one.
 */
export interface Slices {
  last: number;
  /** One per window, the longest first. */
  readonly sums: number[];
  /** n + 1 counts for a longest window of n slices. */
  readonly counts: Float64Array;
}

/** More would make every write of a key rewrite tens of kilobytes. */
export const MOST_SLICES = 3600;

export function newSlices(windows: number, n: number, slice: number): Slices {
  return {
    last: slice,
    sums: new Array<number>(windows).fill(0),
    counts: new Float64Array(n + 1),
  };
}

/** The sum of window number `w` (n slices) as of slice `slice`, which is not before the last. */
export function slicesSum(slices: Slices, w: number, n: number, slice: number): number {
  const passed = slice - slices.last;
  if (passed > n) return 0;
  const oldest = slices.counts.length - 1 - n;
  let sum = slices.sums[w]!;
  for (let i = oldest; i < oldest + passed; i++) sum -= slices.counts[i]!;
  return sum;
}

/** Moves on to slice `slice`: the slices passed are empty, and `sums` are those as of it. */
export function advance(slices: Slices, slice: number, sums: readonly number[]): void {
  const { counts } = slices;
  const passed = Math.min(slice - slices.last, counts.length);
  counts.copyWithin(0, passed);
  counts.fill(0, counts.length - passed);
  slices.last = slice;
  for (let w = 0; w < sums.length; w++) slices.sums[w] = sums[w]!;
}

/**
 * The ring after the clock has stepped back to slice `slice`: what lies later counts in that slice,
 * and what lies before stays, so nothing leaves earlier than it would have. `lengths` has the slices
 * of each window, the longest first.
 */
export function stepBack(slices: Slices, lengths: readonly number[], slice: number): Slices {
  const n = slices.counts.length - 1;
  const back = slices.last - slice;
  const counts = new Float64Array(n + 1);
  for (let i = 0; i <= n; i++) counts[Math.min(i + back, n)]! += slices.counts[i]!;
  const sums = lengths.map((length) => {
    let sum = 0;
    for (let i = n - length; i <= n; i++) sum += counts[i]!;
    return sum;
  });
  return { last: slice, sums, counts };
}
