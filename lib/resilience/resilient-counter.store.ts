import type { StoreErrorPolicy } from '../rules/policy.js';
import type { CounterStore, CountResult } from '../stores/store.js';
import type { StoreError } from '../stores/store-error.js';
import type { StoreGate } from './store-gate.js';

/**
 * Counters around two stores. While the first one fails, `'local'` counts in this process, `'allow'`
 * answers as if nothing had been counted, and `'deny'` rejects.
 */
export class ResilientCounterStore implements CounterStore {
  constructor(
    private readonly primary: CounterStore,
    private readonly fallback: CounterStore,
    private readonly gate: StoreGate,
    private readonly onStoreError: StoreErrorPolicy,
  ) {}

  record(
    key: string,
    windowMs: number,
    id: string | undefined,
    threshold: number,
    clear: boolean,
  ): Promise<CountResult> {
    return this.ask((store) => store.record(key, windowMs, id, threshold, clear), {
      count: 0,
      reached: false,
    });
  }

  count(key: string, windowMs: number): Promise<number> {
    return this.ask((store) => store.count(key, windowMs), 0);
  }

  timeline(key: string, windowMs: number, buckets: number): Promise<number[]> {
    return this.ask((store) => store.timeline(key, windowMs, buckets), zeros(buckets));
  }

  remove(key: string, id: string): Promise<boolean> {
    return this.ask((store) => store.remove(key, id), false);
  }

  clear(key: string): Promise<void> {
    return this.ask((store) => store.clear(key), undefined);
  }

  addToSlice(key: string, sliceMs: number, slices: number, by: number): Promise<[number, number]> {
    return this.ask((store) => store.addToSlice(key, sliceMs, slices, by), [0, 0]);
  }

  readSlices(key: string, sliceMs: number, slices: number): Promise<number[]> {
    return this.ask((store) => store.readSlices(key, sliceMs, slices), zeros(slices + 1));
  }

  clearSlices(key: string, sliceMs: number, slices: number): Promise<void> {
    return this.ask((store) => store.clearSlices(key, sliceMs, slices), undefined);
  }

  private ask<T>(question: (store: CounterStore) => Promise<T>, nothing: T): Promise<T> {
    return this.gate.ask(
      () => question(this.primary),
      (failure) => this.without(question, nothing, failure),
    );
  }

  private without<T>(
    question: (store: CounterStore) => Promise<T>,
    nothing: T,
    failure: StoreError,
  ): T | Promise<T> {
    if (this.onStoreError === 'deny') throw failure;
    return this.onStoreError === 'allow' ? nothing : question(this.fallback);
  }
}

function zeros(count: number): number[] {
  return new Array<number>(count).fill(0);
}
