import { type Clock, monotonicClock } from '../clock.js';
import { StoreError } from '../stores/store-error.js';

/** One who waits, in a list ordered by the end of the wait. */
interface Waiting {
  readonly dueAt: number;
  readonly expire: () => void;
  previous: Waiting | undefined;
  next: Waiting | undefined;
  settled: boolean;
}

/**
 * Settles what it is given in time, whatever the store does.
 *
 * All wait equally long, so the order of beginning is the order of ending: one timer, for the oldest,
 * serves them all. It may outlive those it was set for, by a timeout at most and without keeping the
 * process: a lone caller sets none per question. Real time: a store does not answer sooner because a
 * test drives the clock.
 */
export class Deadline {
  private oldest: Waiting | undefined;
  private newest: Waiting | undefined;
  private timer: NodeJS.Timeout | undefined;
  private idlers: (() => void)[] = [];

  constructor(
    private readonly timeoutMs: number,
    private readonly clock: Clock = monotonicClock,
  ) {}

  /**
   * The answer, or what `instead` gives for a failure or for none in time. `late` gets an answer that
   * came after that.
   */
  race<T>(
    work: Promise<T>,
    instead: (failure: StoreError) => T | Promise<T>,
    late?: (answer: T) => void,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const fail = (failure: unknown) => {
        try {
          resolve(instead(StoreError.from(failure)));
        } catch (error) {
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as it was thrown
          reject(error);
        }
      };
      const waiting = this.wait(() => fail(new StoreError('timeout')));
      work.then(
        (answer) => {
          if (this.settle(waiting)) resolve(answer);
          else late?.(answer);
        },
        (failure: unknown) => {
          if (this.settle(waiting)) fail(failure);
        },
      );
    });
  }

  /**
   * Resolves when nobody waits any more, at the latest when the last one has waited in vain, and
   * leaves no timer.
   */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.idlers.push(resolve);
      if (this.oldest === undefined) this.rest();
    });
  }

  private wait(expire: () => void): Waiting {
    const waiting: Waiting = {
      dueAt: this.clock.now() + this.timeoutMs,
      expire,
      previous: this.newest,
      next: undefined,
      settled: false,
    };
    if (this.newest === undefined) this.oldest = waiting;
    else this.newest.next = waiting;
    this.newest = waiting;
    this.timer ??= setTimeout(this.look, this.timeoutMs).unref();
    return waiting;
  }

  /** False: it is too late. */
  private settle(waiting: Waiting): boolean {
    if (waiting.settled) return false;
    waiting.settled = true;
    const { previous, next } = waiting;
    if (previous === undefined) this.oldest = next;
    else previous.next = next;
    if (next === undefined) this.newest = previous;
    else next.previous = previous;
    if (this.oldest === undefined && this.idlers.length > 0) this.rest();
    return true;
  }

  private rest(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const resolve of this.idlers.splice(0)) resolve();
  }

  /** After a turn of the loop: where the process itself was late, answers that are here come first. */
  private readonly look = (): void => {
    setImmediate(() => {
      const now = this.clock.now();
      this.timer = undefined;
      for (let due = this.oldest; due !== undefined && due.dueAt <= now; due = this.oldest) {
        this.settle(due);
        due.expire();
      }
      if (this.oldest === undefined) return;
      this.timer = setTimeout(this.look, this.oldest.dueAt - now).unref();
    });
  };
}
