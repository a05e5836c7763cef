import { circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from 'cockatiel';
import { StoreError } from '../stores/store-error.js';

/** How many failures in a row take the store out of use. */
const FAILURES = 5;
/** How long it is left alone before one decision tries it again. */
export const RETRY_MS = 1000;

/** What is known of the store: in use, or left alone because of `reason`. */
export type StoreState = { readonly up: true } | { readonly up: false; readonly reason: string };

/**
 * Takes a store that fails again and again out of use, and lets one decision at a time find out
 * whether it is back.
 *
 * The library's state machine, told only of what can change its state: a healthy store costs a
 * comparison per decision.
 */
export class StoreBreaker {
  private readonly consecutive = new ConsecutiveBreaker(FAILURES);
  private readonly circuit = circuitBreaker(
    // What is wrong with one key says nothing about the store.
    handleWhen((error) => !(error instanceof StoreError && error.ofOneKey)),
    { breaker: this.consecutive, halfOpenAfter: RETRY_MS },
  );
  private readonly listeners: ((state: StoreState) => void)[] = [];
  private current: StoreState = { up: true };

  constructor() {
    // A probe that fails opens it again: no news, since it was not closed meanwhile.
    this.circuit.onBreak((failure) => {
      if (this.current.up) this.change({ up: false, reason: reasonOf(failure) });
    });
    this.circuit.onReset(() => this.change({ up: true }));
  }

  get state(): StoreState {
    return this.current;
  }

  /** Nothing has failed since the last answer: there is nothing to tell the state machine. */
  get calm(): boolean {
    return this.consecutive.state === 0;
  }

  onChange(listener: (state: StoreState) => void): void {
    this.listeners.push(listener);
  }

  /** Of a question that was asked while everything was calm. */
  failed(error: StoreError): void {
    this.circuit.execute(() => Promise.reject(error)).catch(() => undefined);
  }

  /** Asks, and counts what comes of it; rejects at once while the store is out of use. */
  attempt<T>(question: () => Promise<T>): Promise<T> {
    return this.circuit.state === CircuitState.HalfOpen
      ? Promise.reject(new StoreError('out-of-use'))
      : this.circuit.execute(question);
  }

  private change(state: StoreState): void {
    this.current = state;
    for (const listener of this.listeners) listener(state);
  }
}

function reasonOf(failure: object): string {
  return 'error' in failure ? StoreError.from(failure.error).reason : 'failed';
}
