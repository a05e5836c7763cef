import { StoreError } from '../stores/store-error.js';
import type { Deadline } from './deadline.js';
import type { StoreBreaker } from './store-breaker.js';

/** The way to a store that may fail, for limits and counters alike: in time, or not at all. */
export class StoreGate {
  constructor(
    private readonly deadline: Deadline,
    private readonly breaker: StoreBreaker,
    /** Told of every question that the store did not answer. */
    private readonly onFailure: (failure: StoreError) => void = () => undefined,
  ) {}

  /**
   * The store's answer, or what `instead` gives when there is none in time or the store is out of
   * use. `late` gets an answer that came after that.
   */
  ask<T>(
    question: () => Promise<T>,
    instead: (failure: StoreError) => T | Promise<T>,
    late?: (answer: T) => void,
  ): Promise<T> {
    if (!this.breaker.calm) {
      return this.breaker
        .attempt(() => this.deadline.race(question(), rethrow, late))
        .catch((error: unknown) => {
          const failure = StoreError.from(error);
          this.onFailure(failure);
          return instead(failure);
        });
    }
    return this.deadline.race(
      question(),
      (failure) => {
        this.breaker.failed(failure);
        this.onFailure(failure);
        return instead(failure);
      },
      late,
    );
  }
}

/** For questions that nobody else can answer. */
export function rethrow(failure: StoreError): never {
  throw failure;
}
