import { checkKeys } from '../errors.js';
import {
  ADMITS,
  AHEAD,
  type Algorithm,
  longestFirst,
  NEVER,
  type ResolvedRule,
  shareLimit,
} from './algorithm.js';

/** Per rule: the number of the window (floor(at / windowMs)) and the units in it. */
interface FixedWindowState {
  readonly indexes: number[];
  readonly counts: number[];
  /** The clock has stepped back over an edge: a count stands until the window after the present ends. */
  ahead: boolean;
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

  share: shareLimit,

  /** A window's units are spent within it: a lease ends with the window, not later. */
  lease: (rule) => rule,

  check(state, numbers, cost, now, reply, at) {
    let verdict = ADMITS;
    let ahead = 0;
    for (let i = 0; i < numbers.length / 2; i++) {
      const limit = numbers[2 * i]!;
      const window = numbers[2 * i + 1]!;
      const current = Math.floor(now / window);
      let index = current;
      let count = 0;
      if (state !== undefined && state.indexes[i]! >= current) {
        index = Math.min(state.indexes[i]!, current + 1);
        count = state.counts[i]!;
        if (state.indexes[i]! > current + 1) ahead = AHEAD;
      }
      const ends = (index + 1) * window - now;
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
    state.ahead = false;
    for (let i = 0; i < numbers.length / 2; i++) {
      const current = Math.floor(now / numbers[2 * i + 1]!);
      if (state.indexes[i]! < current) state.counts[i] = 0;
      // Passing an edge again gives no new limit; a jump back delays by one window, not by the jump.
      state.indexes[i] = Math.min(Math.max(state.indexes[i]!, current), current + 1);
      if (state.indexes[i]! > current) state.ahead = true;
    }
    return state;
  },

  commit(state, numbers, cost, now, reply, at) {
    const rules = numbers.length / 2;
    const next = fixedWindow.repair(
      state ?? {
        indexes: new Array<number>(rules).fill(0),
        counts: new Array<number>(rules).fill(0),
        ahead: false,
      },
      numbers,
      now,
    );
    for (let i = 0; i < rules; i++) {
      next.counts[i]! += cost;
      reply[at]! -= cost;
      reply[at + 2] = (next.indexes[i]! + 1) * numbers[2 * i + 1]! - now;
      at += 3;
    }
    return next;
  },

  refund(state, numbers, cost, chargedAt, now) {
    const next = fixedWindow.repair(state, numbers, now);
    for (let i = 0; i < numbers.length / 2; i++) {
      if (Math.floor(chargedAt / numbers[2 * i + 1]!) === next.indexes[i]) {
        next.counts[i] = Math.max(0, next.counts[i]! - cost);
      }
    }
    return next;
  },

  lifeMs: (state, numbers) => (state?.ahead ? 2 * numbers[1]! : numbers[1]!),
};
