import { checkKeys } from '../errors.js';
import {
  ADMITS,
  AHEAD,
  type Algorithm,
  longestFirst,
  NEVER,
  type ResolvedRule,
} from './algorithm.js';

/** Per rule: the number of the window (floor(now / windowMs)) and the units in it. */
interface FixedWindowState {
  readonly indexes: number[];
  readonly counts: number[];
}

/**
 * At most `limit` units per aligned window, so up to 2 × limit across an edge.
 * Windows are aligned to the epoch: `'1d'` begins at midnight UTC.
 */
export const fixedWindow: Algorithm<ResolvedRule, FixedWindowState> = {
  name: 'fixed-window',

  parse({ limit, windowMs, written }, path) {
    checkKeys(written, ['algorithm', 'limit', 'window'], path);
    return { algorithm: 'fixed-window', limit, windowMs };
  },

  layout(rules) {
    const order = longestFirst(rules);
    return {
      order,
      numbers: order.flatMap((i) => [rules[i]!.limit, rules[i]!.windowMs]),
      shape: order.map((i) => rules[i]!.windowMs).join('+'),
    };
  },

  check(state, numbers, cost, now, reply, at) {
    let verdict = ADMITS;
    let ahead = 0;
    for (let i = 0; i < numbers.length / 2; i++) {
      const limit = numbers[2 * i]!;
      const window = numbers[2 * i + 1]!;
      const current = Math.floor(now / window);
      const ends = window - (now % window);
      let count = 0;
      if (state !== undefined) {
        if (state.indexes[i]! >= current) count = state.counts[i]!;
        if (state.indexes[i]! > current) ahead = AHEAD;
      }
      let retryAfter = 0;
      if (!(count + cost <= limit)) {
        verdict = 0;
        retryAfter = cost > limit ? NEVER : ends;
      }
      reply[at] = Math.max(0, limit - count);
      reply[at + 1] = retryAfter;
      reply[at + 2] = count > 0 ? ends : 0;
      at += 3;
    }
    return verdict | ahead;
  },

  repair(state, numbers, now) {
    for (let i = 0; i < numbers.length / 2; i++) {
      const current = Math.floor(now / numbers[2 * i + 1]!);
      if (state.indexes[i]! < current) state.counts[i] = 0;
      state.indexes[i] = current;
    }
    return state;
  },

  commit(state, numbers, cost, now, reply, at) {
    const rules = numbers.length / 2;
    const next = fixedWindow.repair(
      state ?? {
        indexes: new Array<number>(rules).fill(0),
        counts: new Array<number>(rules).fill(0),
      },
      numbers,
      now,
    );
    for (let i = 0; i < rules; i++) {
      const window = numbers[2 * i + 1]!;
      next.counts[i]! += cost;
      reply[at]! -= cost;
      reply[at + 2] = window - (now % window);
      at += 3;
    }
    return next;
  },

  refund(state, numbers, cost, chargedAt, now) {
    const next = fixedWindow.repair(state, numbers, now);
    for (let i = 0; i < numbers.length / 2; i++) {
      const window = numbers[2 * i + 1]!;
      if (Math.floor(chargedAt / window) === Math.floor(now / window)) {
        next.counts[i] = Math.max(0, next.counts[i]! - cost);
      }
    }
    return next;
  },

  lifeMs: (_, numbers) => numbers[1]!,
};
