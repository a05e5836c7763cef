import { performance } from 'node:perf_hooks';

/** Time and waiting, as one thing that a test can drive. The only reader of time in the library. */
export interface Clock {
  /** Whole milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when it is aborted first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay that setTimeout keeps; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  for (let left = ms; left > 0; left -= LONGEST_TIMER_MS) {
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason as Error);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', stop);
          resolve();
        },
        Math.min(left, LONGEST_TIMER_MS),
      );
      signal?.addEventListener('abort', stop, { once: true });
    });
  }
}

/** Looked up once: the getter costs as much as a look at the clock. */
const { timeOrigin } = performance;

/** Never steps back while the process lives; right for state that only this process reads. */
export const monotonicClock: Clock = {
  now: () => Math.floor(timeOrigin + performance.now()),
  sleep,
};

/** The machine's clock, which other processes share; right for time sent to Redis. */
export const wallClock: Clock = { now: () => Date.now(), sleep };

/** Measures from now on: gives the milliseconds passed, fractions included. */
export function stopwatch(): () => number {
  const start = performance.now();
  return () => performance.now() - start;
}
