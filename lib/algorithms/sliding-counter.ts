import { checkInteger, checkKeys } from '../errors.js';
import {
  ADMITS,
  AHEAD,
  type Algorithm,
  NEVER,
  type ResolvedRule,
  shareLimit,
} from './algorithm.js';
import { advance, MOST_SLICES, newSlices, type Slices, slicesSum, stepBack } from './slices.js';

interface SlidingCounterRule extends ResolvedRule {
  readonly sliceMs: number;
  readonly slices: number;
}

/** A ring serves all rules of one slice length; its first rule has the longest window. */
interface Ring {
  readonly rule: number;
  readonly windows: number;
  readonly sliceMs: number;
  readonly slices: number;
}

interface SlidingCounterState {
  readonly rings: readonly Ring[];
  readonly slices: Slices[];
}

const DEFAULT_SLICES = 60;

/**
 * Never more than `limit` units in any window; may refuse up to one slice's units too long.
 * A window of n slices is counted over n + 1 of them, which is what makes the limit hard.
 */
export const slidingCounter: Algorithm<SlidingCounterRule, SlidingCounterState> = {
  name: 'sliding-counter',

  parse({ limit, windowMs, written }, path) {
    checkKeys(written, ['algorithm', 'limit', 'slices', 'window'], path);
    const wanted = checkInteger(
      written.slices ?? Math.min(DEFAULT_SLICES, windowMs),
      `${path}.slices`,
      1,
      Math.min(MOST_SLICES, windowMs),
    );
    // Rounded up, so that the slices never cover less than the window.
    const sliceMs = Math.ceil(windowMs / wanted);
    const slices = Math.ceil(windowMs / sliceMs);
    return { algorithm: 'sliding-counter', limit, windowMs, sliceMs, slices };
  },

  layout(rules) {
    const order = rules
      .map((_, i) => i)
      .sort((a, b) => rules[a]!.sliceMs - rules[b]!.sliceMs || rules[b]!.slices - rules[a]!.slices);
    const longest = (sliceMs: number) =>
      rules[order.find((i) => rules[i]!.sliceMs === sliceMs)!]!.slices;
    return {
      order,
      numbers: order.flatMap((i) => {
        const { limit, sliceMs, slices } = rules[i]!;
        return [limit, sliceMs, slices, longest(sliceMs)];
      }),
      shape: order.map((i) => `${rules[i]!.sliceMs}x${rules[i]!.slices}`).join('+'),
    };
  },

  share: shareLimit,

  /** Taken at the beginning of a lease and spent at its end, a unit counts until a window after that. */
  lease: (rule, ttlMs) => {
    const windowMs = rule.windowMs + ttlMs;
    const sliceMs = Math.ceil(windowMs / rule.slices);
    return { ...rule, windowMs, sliceMs, slices: Math.ceil(windowMs / sliceMs) };
  },

  check(state, numbers, cost, now, reply, at) {
    let verdict = ADMITS;
    let ahead = 0;
    for (let rule = 0; rule < numbers.length; rule += 4) {
      const limit = numbers[rule]!;
      const slices = numbers[rule + 2]!;
      let sum = 0;
      let present: Present | undefined;
      if (state !== undefined) {
        present = presentOf(state, numbers, rule / 4, now);
        sum = slicesSum(present.held, present.window, slices, present.slice);
        if (present.ahead) ahead = AHEAD;
      }
      let retryAfter = 0;
      if (!(sum + cost <= limit)) {
        verdict = 0;
        retryAfter = cost > limit ? NEVER : waitFor(present!, slices, sum + cost - limit, now);
      }
      reply[at] = Math.max(0, limit - sum);
      reply[at + 1] = retryAfter;
      reply[at + 2] = sum > 0 ? emptyIn(present!, slices, now) : 0;
      at += 3;
    }
    return verdict | ahead;
  },

  repair(state, numbers, now) {
    for (let r = 0; r < state.rings.length; r++) {
      const ring = state.rings[r]!;
      const held = state.slices[r]!;
      const slice = Math.floor(now / ring.sliceMs);
      const lengths = lengthsOf(ring, numbers);
      if (held.last > slice) {
        state.slices[r] = stepBack(held, lengths, slice);
      } else {
        advance(
          held,
          slice,
          lengths.map((length, w) => slicesSum(held, w, length, slice)),
        );
      }
    }
    return state;
  },

  commit(state, numbers, cost, now, reply, at) {
    const next = slidingCounter.repair(state ?? newState(numbers, now), numbers, now);
    for (let r = 0; r < next.rings.length; r++) {
      const ring = next.rings[r]!;
      const held = next.slices[r]!;
      held.counts[held.counts.length - 1]! += cost;
      for (let w = 0; w < ring.windows; w++) {
        held.sums[w]! += cost;
        reply[at]! -= cost;
        const slices = numbers[4 * (ring.rule + w) + 2]!;
        reply[at + 2] = (held.last + slices + 1) * ring.sliceMs - now;
        at += 3;
      }
    }
    return next;
  },

  refund(state, numbers, cost, chargedAt, now) {
    const next = slidingCounter.repair(state, numbers, now);
    for (let r = 0; r < next.rings.length; r++) {
      const ring = next.rings[r]!;
      const held = next.slices[r]!;
      const back = held.last - Math.floor(chargedAt / ring.sliceMs);
      if (back < 0 || back > ring.slices) continue;
      const place = held.counts.length - 1 - back;
      const given = Math.min(cost, held.counts[place]!);
      held.counts[place]! -= given;
      for (let w = 0; w < ring.windows; w++) {
        if (back <= numbers[4 * (ring.rule + w) + 2]!) held.sums[w]! -= given;
      }
    }
    return next;
  },

  lifeMs(_, numbers) {
    let life = 0;
    for (let rule = 0; rule < numbers.length; rule += 4) {
      life = Math.max(life, (numbers[rule + 3]! + 1) * numbers[rule + 1]!);
    }
    return life;
  },
};

function newState(numbers: readonly number[], now: number): SlidingCounterState {
  const rings: Ring[] = [];
  for (let rule = 0; rule < numbers.length / 4; rule++) {
    const sliceMs = numbers[4 * rule + 1]!;
    const ring = rings.at(-1);
    if (ring?.sliceMs === sliceMs) rings[rings.length - 1] = { ...ring, windows: ring.windows + 1 };
    else rings.push({ rule, windows: 1, sliceMs, slices: numbers[4 * rule + 3]! });
  }
  const slices = rings.map((ring) =>
    newSlices(ring.windows, ring.slices, Math.floor(now / ring.sliceMs)),
  );
  return { rings, slices };
}

/** The slices of each window of a ring, the longest first. */
function lengthsOf(ring: Ring, numbers: readonly number[]): number[] {
  return Array.from({ length: ring.windows }, (_, w) => numbers[4 * (ring.rule + w) + 2]!);
}

/** The ring of a rule, not later than the present slice, and whether it was written later. */
interface Present {
  readonly ring: Ring;
  readonly held: Slices;
  readonly window: number;
  readonly slice: number;
  readonly ahead: boolean;
}

function presentOf(
  state: SlidingCounterState,
  numbers: readonly number[],
  rule: number,
  now: number,
): Present {
  let r = 0;
  while (rule >= state.rings[r]!.rule + state.rings[r]!.windows) r++;
  const ring = state.rings[r]!;
  const held = state.slices[r]!;
  const slice = Math.floor(now / ring.sliceMs);
  const ahead = held.last > slice;
  return {
    ring,
    held: ahead ? stepBack(held, lengthsOf(ring, numbers), slice) : held,
    window: rule - ring.rule,
    slice,
    ahead,
  };
}

/** Milliseconds until the oldest slices that hold `excess` units have left a window of n slices. */
function waitFor({ ring, held, slice: present }: Present, n: number, excess: number, now: number) {
  const newest = held.counts.length - 1;
  let slice = Math.max(present - n, held.last - ring.slices);
  for (; slice <= held.last; slice++) {
    excess -= held.counts[newest - (held.last - slice)]!;
    if (excess <= 0) break;
  }
  return (slice + n + 1) * ring.sliceMs - now;
}

/** Milliseconds until the newest slice that holds anything has left a window of n slices. */
function emptyIn({ ring, held }: Present, n: number, now: number) {
  let place = held.counts.length - 1;
  while (held.counts[place] === 0) place--;
  const slice = held.last - (held.counts.length - 1 - place);
  return (slice + n + 1) * ring.sliceMs - now;
}
