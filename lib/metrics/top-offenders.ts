import { checkInteger } from '../errors.js';

/** A key and how often it was seen, at most `error` too often. */
export interface Offender {
  readonly key: string;
  readonly count: number;
  /** How much of `count` may belong to keys that were forgotten. */
  readonly error: number;
}

/**
 * Who is seen most often, in memory for `capacity` keys however many there are: the space-saving
 * algorithm (Metwally, Agrawal, El Abbadi 2005). A key that is new when the sketch is full takes the
 * place of the rarest and inherits its count as its error.
 *
 * A count is never too low, and too high by at most `total / capacity`; every key that was seen more
 * often than that is in the sketch. Recording a known key is O(1), a new one O(capacity).
 *
 * @example
 * const offenders = new TopOffenders(100);
 * limiter.decisions$.subscribe((event) => {
 *   if (event.outcome === 'denied') offenders.record(event.decision.policies[0]!.subject);
 * });
 * offenders.top(10);
 */
export class TopOffenders {
  private readonly counts = new Map<string, { count: number; error: number }>();

  /** @param capacity Keys that are kept. Throws `RateLimitConfigError` unless it is 1 to 100 000. */
  constructor(private readonly capacity = 100) {
    checkInteger(capacity, 'capacity', 1, 100_000);
  }

  /** Sees `key` once, or `weight` times. */
  record(key: string, weight = 1): void {
    const known = this.counts.get(key);
    if (known !== undefined) {
      known.count += weight;
      return;
    }
    let error = 0;
    if (this.counts.size >= this.capacity) {
      const [rarest, { count }] = this.rarest();
      this.counts.delete(rarest);
      error = count;
    }
    this.counts.set(key, { count: error + weight, error });
  }

  /** The `most` keys with the highest counts, the highest first. */
  top(most: number): Offender[] {
    return [...this.counts]
      .map(([key, { count, error }]) => ({ key, count, error }))
      .sort((a, b) => b.count - a.count)
      .slice(0, most);
  }

  private rarest(): [string, { count: number }] {
    let rarest: [string, { count: number }] | undefined;
    for (const entry of this.counts) {
      if (rarest === undefined || entry[1].count < rarest[1].count) rarest = entry;
    }
    return rarest!;
  }
}
