const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Widths of a bucket, each a multiple of the one before, so that buckets merge without a rest. */
const WIDTHS_MS = [
  SECOND,
  5 * SECOND,
  10 * SECOND,
  30 * SECOND,
  MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
];

export const MOST_BUCKETS = 240;

/**
 * Counts per bucket of time for several series at once, for a log of any length: when it would take
 * more than `MOST_BUCKETS`, buckets become wider and are merged. They are aligned to the epoch.
 */
export class Timeline {
  readonly series: number[][];
  bucketMs = WIDTHS_MS[0]!;
  private first = 0;

  constructor(series: number) {
    this.series = Array.from({ length: series }, () => []);
  }

  /** Where the first bucket begins, milliseconds since the epoch. */
  get startAt(): number {
    return this.first * this.bucketMs;
  }

  /** Makes sure that there is a bucket for an instant, none of which may be before the last; gives its place. */
  reach(at: number): number {
    if (this.series[0]!.length === 0) this.first = Math.floor(at / this.bucketMs);
    let place = Math.floor(at / this.bucketMs) - this.first;
    while (place >= MOST_BUCKETS) {
      this.widen();
      place = Math.floor(at / this.bucketMs) - this.first;
    }
    for (const counts of this.series) while (counts.length <= place) counts.push(0);
    return place;
  }

  private widen(): void {
    const narrow = this.bucketMs;
    this.bucketMs = WIDTHS_MS.find((width) => width > narrow) ?? 2 * narrow;
    const first = Math.floor((this.first * narrow) / this.bucketMs);
    for (const [i, counts] of this.series.entries()) {
      const merged: number[] = [];
      for (const [place, count] of counts.entries()) {
        const at = Math.floor(((this.first + place) * narrow) / this.bucketMs) - first;
        merged[at] = (merged[at] ?? 0) + count;
      }
      this.series[i] = merged;
    }
    this.first = first;
  }
}
