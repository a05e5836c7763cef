import { MOST_SLICES } from '../algorithms/slices.js';
import { checkInteger, checkKeys, configError } from '../errors.js';
import { asUnavailable } from '../limiting/exceptions.js';
import { type Duration, parseDuration } from '../rules/duration.js';
import type { CounterStore, CountResult } from '../stores/store.js';

/** What may be said of one event. */
export interface EventOptions {
  /** The same id within the window counts once. @default an id of its own for every event */
  id?: string;
}

/** Counts per slice of time and over a window, on one ring. */
export interface SlicedCounter {
  /** Adds to the present slice; returns its count and the window's. @param by @default 1 */
  increment(by?: number): Promise<{ slice: number; window: number }>;
  /** All of the last window, and at most one slice more: never less than the exact count. */
  windowSum(): Promise<number>;
  /** The count of the present slice. */
  sliceValue(): Promise<number>;
  /** The window's slices and the partly expired one before them, oldest first, the present one last. */
  timeline(): Promise<number[]>;
  /** Forgets all slices. */
  clear(): Promise<void>;
}

/**
 * Counts events over sliding windows, and tells when a threshold is reached. An event at t counts
 * in [t, t + window). Events of one millisecond are counted apart.
 *
 * @example
 * if (await windows.clearOnCondition(`login-failed:${user}`, '5m', 5)) await notify(user);
 */
export class SlidingWindowService {
  /** @hidden Nest makes it. */
  constructor(private readonly store: CounterStore) {}

  /**
   * Records an event; returns how many the window holds with it.
   *
   * @example
   * const visits = await windows.calculateCount('visits', '1h');
   */
  async calculateCount(key: string, window: Duration, event?: EventOptions): Promise<number> {
    return (await this.record(key, window, 0, false, event)).count;
  }

  /**
   * Records an event; true when the window holds `threshold` with it. The events stay, so it is true
   * again for the next.
   *
   * @example
   * const busy = await windows.keepCalculate('orders', '1m', 100, { id: order.id });
   */
  async keepCalculate(
    key: string,
    window: Duration,
    threshold: number,
    event?: EventOptions,
  ): Promise<boolean> {
    checkInteger(threshold, 'threshold', 1);
    return (await this.record(key, window, threshold, false, event)).reached;
  }

  /**
   * Records an event; true when the window holds `threshold` with it, and then forgets them all, in
   * one step: of many processes exactly one is told.
   */
  async clearOnCondition(
    key: string,
    window: Duration,
    threshold: number,
    event?: EventOptions,
  ): Promise<boolean> {
    checkInteger(threshold, 'threshold', 1);
    return (await this.record(key, window, threshold, true, event)).reached;
  }

  /**
   * How many events the window holds. Records nothing.
   *
   * @example
   * const failures = await windows.count(`login-failed:${user}`, '5m');
   */
  async count(key: string, window: Duration): Promise<number> {
    return this.store.count(checkKey(key), parseDuration(window, 'window')).catch(asUnavailable);
  }

  /**
   * The window's events in `buckets` equal parts, oldest first; at most 1000. Records nothing.
   *
   * @example
   * const perMinute = await windows.timeline('orders', '1h', 60);
   */
  async timeline(key: string, window: Duration, buckets: number): Promise<number[]> {
    const windowMs = parseDuration(window, 'window');
    checkInteger(buckets, 'buckets', 1, Math.min(1000, windowMs));
    return this.store.timeline(checkKey(key), windowMs, buckets).catch(asUnavailable);
  }

  /**
   * Takes back the event of this id; false when there is none.
   *
   * @example
   * await windows.remove('orders', order.id); // it was cancelled
   */
  async remove(key: string, id: string): Promise<boolean> {
    return this.store.remove(checkKey(key), checkId(id)).catch(asUnavailable);
  }

  /** Forgets the key's events. Slices of that key stay: `SlicedCounter` clears its own. */
  async clear(key: string): Promise<void> {
    await this.store.clear(checkKey(key)).catch(asUnavailable);
  }

  /**
   * A counter of slices: one ring answers for the present slice and for the window.
   *
   * @example
   * const calls = windows.sliced('calls', { slice: '1m', window: '1h' });
   * const { slice, window } = await calls.increment();
   */
  sliced(key: string, options: { slice: Duration; window: Duration }): SlicedCounter {
    checkKey(key);
    checkKeys(options, ['slice', 'window'], 'sliced options');
    const sliceMs = parseDuration(options.slice, 'slice');
    const windowMs = parseDuration(options.window, 'window');
    const slices = windowMs / sliceMs;
    if (!Number.isInteger(slices) || slices > MOST_SLICES) {
      throw configError.badValue(
        'window',
        options.window,
        `1 to ${MOST_SLICES} times the slice of ${sliceMs} ms`,
      );
    }
    const read = () => this.store.readSlices(key, sliceMs, slices).catch(asUnavailable);
    return {
      increment: async (by = 1) => {
        checkInteger(by, 'by', 1);
        const [slice, window] = await this.store
          .addToSlice(key, sliceMs, slices, by)
          .catch(asUnavailable);
        return { slice, window };
      },
      windowSum: async () => (await read()).reduce((sum, count) => sum + count, 0),
      sliceValue: async () => (await read())[slices]!,
      timeline: read,
      clear: () => this.store.clearSlices(key, sliceMs, slices).catch(asUnavailable),
    };
  }

  private async record(
    key: string,
    window: Duration,
    threshold: number,
    clear: boolean,
    event: EventOptions = {},
  ): Promise<CountResult> {
    checkKeys(event, ['id'], 'event');
    const id = event.id === undefined ? undefined : checkId(event.id);
    return this.store
      .record(checkKey(key), parseDuration(window, 'window'), id, threshold, clear)
      .catch(asUnavailable);
  }
}

function checkKey(key: unknown): string {
  if (typeof key !== 'string' || key === '') {
    throw configError.badValue('key', key, 'a string that is not empty');
  }
  return key;
}

function checkId(id: unknown): string {
  if (typeof id !== 'string' || id === '') {
    throw configError.badValue('event id', id, 'a string that is not empty');
  }
  return id;
}
