import { GRACE_MS } from '../../algorithms/algorithm.js';
import type { Clock } from '../../clock.js';
import {
  countEvents,
  type EventLog,
  eventTimeline,
  newEventLog,
  recordEvent,
  removeEvent,
} from '../../algorithms/event-log.js';
import { addToSlice, readSlices, type SliceRing } from '../../algorithms/slice-ring.js';
import { boundText, EVENT_LOG, sliceRing } from '../keys.js';
import type { CounterStore, CountResult } from '../store.js';
import type { BoundedMap, Space } from './bounded-map.js';

/** Counters of one process. Shares its map, and so its bound, with the limits. */
export class MemoryCounterStore implements CounterStore {
  constructor(
    private readonly entries: BoundedMap<unknown>,
    private readonly clock: Clock,
  ) {}

  record(
    key: string,
    windowMs: number,
    id: string | undefined,
    threshold: number,
    clear: boolean,
  ): Promise<CountResult> {
    const now = this.clock.now();
    const entry = this.entries.open(this.space(EVENT_LOG), boundText(key), now);
    const log = (entry.value ??= newEventLog()) as EventLog;
    const count = recordEvent(log, windowMs, id, now);
    this.entries.keep(entry, now + log.longestMs + GRACE_MS);
    this.entries.rank(entry, entry.rank);
    const reached = threshold > 0 && count >= threshold;
    if (reached && clear) this.entries.delete(entry.space, entry.key);
    return Promise.resolve({ count, reached });
  }

  count(key: string, windowMs: number): Promise<number> {
    const now = this.clock.now();
    const log = this.logOf(key, now);
    return Promise.resolve(log === undefined ? 0 : countEvents(log, windowMs, now));
  }

  timeline(key: string, windowMs: number, buckets: number): Promise<number[]> {
    const now = this.clock.now();
    return Promise.resolve(
      eventTimeline(this.logOf(key, now) ?? newEventLog(), windowMs, buckets, now),
    );
  }

  remove(key: string, id: string): Promise<boolean> {
    const now = this.clock.now();
    const log = this.logOf(key, now);
    return Promise.resolve(log !== undefined && removeEvent(log, id, now));
  }

  clear(key: string): Promise<void> {
    this.entries.delete(this.space(EVENT_LOG), boundText(key));
    return Promise.resolve();
  }

  addToSlice(key: string, sliceMs: number, slices: number, by: number): Promise<[number, number]> {
    const now = this.clock.now();
    const entry = this.entries.open(this.space(sliceRing(sliceMs, slices)), boundText(key), now);
    this.entries.keep(entry, now + (slices + 1) * sliceMs + GRACE_MS);
    this.entries.rank(entry, entry.rank);
    const { ring, slice, window } = addToSlice(
      entry.value as SliceRing | undefined,
      sliceMs,
      slices,
      by,
      now,
    );
    entry.value = ring;
    return Promise.resolve([slice, window]);
  }

  readSlices(key: string, sliceMs: number, slices: number): Promise<number[]> {
    const now = this.clock.now();
    const entry = this.entries.get(this.space(sliceRing(sliceMs, slices)), boundText(key), now);
    return Promise.resolve(readSlices(entry?.value as SliceRing | undefined, sliceMs, slices, now));
  }

  clearSlices(key: string, sliceMs: number, slices: number): Promise<void> {
    this.entries.delete(this.space(sliceRing(sliceMs, slices)), boundText(key));
    return Promise.resolve();
  }

  private logOf(key: string, now: number): EventLog | undefined {
    return this.entries.get(this.space(EVENT_LOG), boundText(key), now)?.value as
      EventLog | undefined;
  }

  /** No policy's: those have a type in their name. */
  private space(state: string): Space<unknown> {
    return this.entries.space(`counter|${state}`);
  }
}
