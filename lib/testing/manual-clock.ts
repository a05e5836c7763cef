import type { Clock } from '../clock.js';
import { type Duration, parseDuration } from '../rules/duration.js';

interface Sleeper {
  readonly wakesAt: number;
  readonly wake: () => void;
}

/**
 * Time that moves when it is told to. Drives both stores: the in-process one directly, Redis'
 * scripts by being sent to them.
 *
 * @example
 * const clock = new ManualClock();
 * clock.advance('10s');
 */
export class ManualClock implements Clock {
  private sleepers: Sleeper[] = [];

  /** @param millis Where it starts, in milliseconds since the epoch. */
  constructor(private millis = Date.UTC(2026, 0, 1)) {}

  now(): number {
    return this.millis;
  }

  /** Moves on and wakes whoever sleeps until then. */
  advance(duration: Duration): void {
    this.set(this.millis + (duration === 0 ? 0 : parseDuration(duration, 'duration')));
  }

  /** Sets the time; it may step back. */
  set(millis: number): void {
    this.millis = millis;
    const awake = this.sleepers.filter(({ wakesAt }) => wakesAt <= millis);
    this.sleepers = this.sleepers.filter(({ wakesAt }) => wakesAt > millis);
    for (const { wake } of awake) wake();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const sleeper = { wakesAt: this.millis + ms, wake: resolve };
      this.sleepers.push(sleeper);
      signal?.addEventListener(
        'abort',
        () => {
          this.sleepers = this.sleepers.filter((one) => one !== sleeper);
          reject(signal.reason as Error);
        },
        { once: true },
      );
    });
  }
}
