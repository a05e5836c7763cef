import { advance, newSlices, type Slices, slicesSum, stepBack } from './slices.js';

/** Counts per slice of time and over a window of n slices; twin of lua/counters/slice-ring.lua. */
export type SliceRing = Slices;

/** Returns the ring, the count of the present slice, and the sum of the window. */
export function addToSlice(
  ring: SliceRing | undefined,
  sliceMs: number,
  slices: number,
  by: number,
  now: number,
): { ring: SliceRing; slice: number; window: number } {
  const present = Math.floor(now / sliceMs);
  const next = ringAt(ring, slices, present) ?? newSlices(1, slices, present);
  advance(next, present, [slicesSum(next, 0, slices, present)]);
  const window = next.sums[0]! + by;
  if (!Number.isSafeInteger(window)) throw new RangeError('the window would hold more than 2^53-1');
  next.sums[0] = window;
  const slice = (next.counts[slices]! += by);
  return { ring: next, slice, window };
}

/** The counts of n + 1 slices, oldest first, the present one last. Changes nothing. */
export function readSlices(
  ring: SliceRing | undefined,
  sliceMs: number,
  slices: number,
  now: number,
): number[] {
  const present = Math.floor(now / sliceMs);
  const held = ringAt(ring, slices, present);
  const passed = held === undefined ? 0 : present - held.last;
  return Array.from({ length: slices + 1 }, (_, i) => held?.counts[i + passed] ?? 0);
}

/** Where the clock has stepped back, what lies in later slices counts in the present one. */
function ringAt(ring: SliceRing | undefined, slices: number, present: number) {
  return ring !== undefined && ring.last > present ? stepBack(ring, [slices], present) : ring;
}
