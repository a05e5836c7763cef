import { advance, newSlices, type Slices, slicesSum } from './slices.js';

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
  const next = ring ?? newSlices(1, slices, present);
  moveTo(next, slices, present);
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
  const passed = ring === undefined ? 0 : Math.max(0, Math.floor(now / sliceMs) - ring.last);
  return Array.from({ length: slices + 1 }, (_, i) => ring?.counts[i + passed] ?? 0);
}

function moveTo(ring: SliceRing, slices: number, present: number): void {
  // A clock that has stepped back: the newest slice written is taken for the present one.
  if (ring.last >= present) ring.last = present;
  else advance(ring, present, [slicesSum(ring, 0, slices, present)]);
}
