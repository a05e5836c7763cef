import { checkInteger, checkKeys, configError } from '../errors.js';
import { ADMITS, AHEAD, type Algorithm, NEVER, type ResolvedRule, partOf } from './algorithm.js';

interface TokenBucketRule extends ResolvedRule {
  readonly refill: number;
}

/** Per rule: the debt, in 1/windowMs of a unit, at the moment it was last written. */
interface TokenBucketState {
  chargedAt: number;
  readonly debts: number[];
}

/**
 * At most `limit` units at once and `refill` per window on average: the virtual-scheduling form of
 * GCRA (ITU-T I.371 annex A) in exact integers. A millisecond pays back `refill`, a unit costs
 * `windowMs`; the theoretical arrival time is chargedAt + debt / refill.
 */
export const tokenBucket: Algorithm<TokenBucketRule, TokenBucketState> = {
  name: 'token-bucket',

  parse({ limit, windowMs, written }, path) {
    checkKeys(written, ['algorithm', 'limit', 'refill', 'window'], path);
    const refill = checkInteger(written.refill ?? Math.max(limit, 1), `${path}.refill`, 1);
    if (!Number.isSafeInteger(limit * windowMs) || !Number.isSafeInteger(refill * windowMs)) {
      throw configError.badValue(
        `${path}.limit`,
        limit,
        'numbers whose product with the window in ms is below 2^53',
      );
    }
    return { algorithm: 'token-bucket', limit, windowMs, refill };
  },

  layout(rules) {
    return {
      order: rules.map((_, i) => i),
      numbers: rules.flatMap((rule) => [rule.limit, rule.windowMs, rule.refill]),
      shape: rules.map((rule) => rule.windowMs).join('+'),
    };
  },

  share: (rule, parts) => ({
    ...rule,
    limit: partOf(rule.limit, parts),
    refill: partOf(rule.refill, parts),
  }),

  /** Units saved up in leases could be spent on top of a full bucket, all at once. */
  lease: undefined,

  check(state, numbers, cost, now, reply, at) {
    let verdict = ADMITS;
    for (let i = 0; i < numbers.length / 3; i++) {
      const limit = numbers[3 * i]!;
      const window = numbers[3 * i + 1]!;
      const refill = numbers[3 * i + 2]!;
      const debt = debtAt(state, i, refill, now);
      const capacity = limit * window;
      // Not debt + cost * window, which may be above 2^53 and lose a digit.
      const room = capacity - cost * window;
      let retryAfter = 0;
      if (!(debt <= room)) {
        verdict = 0;
        retryAfter = cost > limit ? NEVER : Math.ceil((debt - room) / refill);
      }
      reply[at] = Math.max(0, Math.floor((capacity - debt) / window));
      reply[at + 1] = retryAfter;
      reply[at + 2] = Math.ceil(debt / refill);
      at += 3;
    }
    return state !== undefined && state.chargedAt > now ? verdict | AHEAD : verdict;
  },

  repair(state, numbers, now) {
    for (let i = 0; i < numbers.length / 3; i++) {
      state.debts[i] = debtAt(state, i, numbers[3 * i + 2]!, now);
    }
    state.chargedAt = now;
    return state;
  },

  commit(state, numbers, cost, now, reply, at) {
    const rules = numbers.length / 3;
    const next = tokenBucket.repair(
      state ?? { chargedAt: now, debts: new Array<number>(rules).fill(0) },
      numbers,
      now,
    );
    for (let i = 0; i < rules; i++) {
      const limit = numbers[3 * i]!;
      const window = numbers[3 * i + 1]!;
      const refill = numbers[3 * i + 2]!;
      const debt = (next.debts[i]! += cost * window);
      reply[at] = Math.floor((limit * window - debt) / window);
      reply[at + 2] = Math.ceil(debt / refill);
      at += 3;
    }
    return next;
  },

  refund(state, numbers, cost, chargedAt, now) {
    const next = tokenBucket.repair(state, numbers, now);
    for (let i = 0; i < numbers.length / 3; i++) {
      const refilled = Math.max(0, now - chargedAt) * numbers[3 * i + 2]!;
      const given = Math.max(0, cost * numbers[3 * i + 1]! - refilled);
      next.debts[i] = Math.max(0, next.debts[i]! - given);
    }
    return next;
  },

  lifeMs(state, numbers) {
    let life = 0;
    for (let i = 0; i < numbers.length / 3; i++) {
      life = Math.max(life, Math.ceil((state?.debts[i] ?? 0) / numbers[3 * i + 2]!));
    }
    return life;
  },
};

function debtAt(state: TokenBucketState | undefined, i: number, refill: number, now: number) {
  if (state === undefined) return 0;
  return Math.max(0, state.debts[i]! - Math.max(0, now - state.chargedAt) * refill);
}
