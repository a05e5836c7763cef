import { checkKeys, configError } from '../errors.js';
import {
  ADMITS,
  AHEAD,
  type Algorithm,
  longestFirst,
  NEVER,
  type ResolvedRule,
  shareLimit,
} from './algorithm.js';

/** Above this a log costs more than it is worth: 10 bytes and an entry per unit. */
export const LONGEST_LOG = 100_000;

/** Timestamps, oldest first, in a circle of 2^n places that grows with its content. */
interface SlidingLogState {
  times: number[];
  first: number;
  size: number;
}

/** Never more than `limit` units in any window [t, t + window), with exact remaining and wait. */
export const slidingLog: Algorithm<ResolvedRule, SlidingLogState> = {
  name: 'sliding-log',

  parse({ limit, windowMs, written }, path) {
    checkKeys(written, ['algorithm', 'limit', 'window'], path);
    if (limit > LONGEST_LOG) throw configError.logTooLong(`${path}.limit`, limit, LONGEST_LOG);
    return { algorithm: 'sliding-log', limit, windowMs };
  },

  layout(rules) {
    const order = longestFirst(rules);
    return {
      order,
      numbers: order.flatMap((i) => [rules[i]!.limit, rules[i]!.windowMs]),
      // One log serves all windows up to its longest: what it still holds is right for each.
      shape: String(rules[order[0]!]!.windowMs),
    };
  },

  share: shareLimit,

  /** Taken at the beginning of a lease and spent at its end, a unit counts until a window after that. */
  lease: (rule, ttlMs) => ({ ...rule, windowMs: rule.windowMs + ttlMs }),

  check(state, numbers, cost, now, reply, at) {
    const size = state?.size ?? 0;
    const written = size > 0 ? timeAt(state!, size - 1) : 0;
    const newest = Math.min(written, now);
    let verdict = ADMITS;
    let expired = 0;
    for (let i = 0; i < numbers.length; i += 2) {
      const limit = numbers[i]!;
      const window = numbers[i + 1]!;
      const cutoff = now - window;
      if (newest <= cutoff) expired = size;
      else if (size > 0) expired = countUntil(state!, cutoff, expired);
      const live = size - expired;
      let retryAfter = 0;
      if (!(live + cost <= limit)) {
        verdict = 0;
        retryAfter =
          cost > limit
            ? NEVER
            : Math.min(timeAt(state!, size - limit + cost - 1), now) + window - now;
      }
      reply[at] = Math.max(0, limit - live);
      reply[at + 1] = retryAfter;
      reply[at + 2] = live > 0 ? newest + window - now : 0;
      at += 3;
    }
    return written > now ? verdict | AHEAD : verdict;
  },

  repair(state, numbers, now) {
    for (let i = state.size - 1; i >= 0 && timeAt(state, i) > now; i--) {
      state.times[(state.first + i) & (state.times.length - 1)] = now;
    }
    drop(state, countUntil(state, now - numbers[1]!, 0));
    return state;
  },

  commit(state, numbers, cost, now, reply, at) {
    const next = slidingLog.repair(state ?? { times: [0], first: 0, size: 0 }, numbers, now);
    reserve(next, next.size + cost);
    for (let i = 0; i < cost; i++) {
      next.times[(next.first + next.size) & (next.times.length - 1)] = now;
      next.size++;
    }
    for (let i = 1; i < numbers.length; i += 2) {
      reply[at]! -= cost;
      reply[at + 2] = numbers[i]!;
      at += 3;
    }
    return next;
  },

  refund(state, _, cost, chargedAt) {
    const until = countUntil(state, chargedAt, 0);
    const from = countUntil(state, chargedAt - 1, 0);
    const given = Math.min(cost, until - from);
    for (let i = until; i < state.size; i++) {
      state.times[(state.first + i - given) & (state.times.length - 1)] = timeAt(state, i);
    }
    state.size -= given;
    return state.size > 0 ? state : undefined;
  },

  lifeMs: (_, numbers) => numbers[1]!,
};

function timeAt(state: SlidingLogState, index: number): number {
  return state.times[(state.first + index) & (state.times.length - 1)]!;
}

/** How many entries are at or before `instant`, knowing that the first `from` are. */
function countUntil(state: SlidingLogState, instant: number, from: number): number {
  let step = 1;
  let low = from;
  let high = state.size;
  while (low + step <= state.size) {
    if (timeAt(state, low + step - 1) > instant) {
      high = low + step - 1;
      break;
    }
    low += step;
    step *= 2;
  }
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (timeAt(state, middle) > instant) high = middle;
    else low = middle + 1;
  }
  return low;
}

function drop(state: SlidingLogState, count: number): void {
  state.first = (state.first + count) & (state.times.length - 1);
  state.size -= count;
}

function reserve(state: SlidingLogState, size: number): void {
  if (size <= state.times.length) return;
  let length = state.times.length;
  while (length < size) length *= 2;
  const times = new Array<number>(length).fill(0);
  for (let i = 0; i < state.size; i++) times[i] = timeAt(state, i);
  state.times = times;
  state.first = 0;
}
