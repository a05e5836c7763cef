import type { Plan } from '../algorithms/plan.js';
import { NEVER } from '../algorithms/algorithm.js';
import type { PolicyDecision, RuleState } from '../decision.js';
import type { Decision } from '../decision.js';
import type { StoreErrorPolicy } from '../rules/policy.js';
import type { SubjectType } from '../rules/limit-type.js';

/** One policy to be applied to one subject: what a store is asked to check and to charge. */
export interface Charge {
  readonly plan: Plan;
  readonly type: SubjectType;
  readonly subject: string;
  /** Units; 0 takes none and is denied only where nothing fits any more. */
  readonly cost: number;
  /** How long a denial keeps the subject out; 0: no block. */
  readonly blockMs: number;
  /** Decides and is charged like the others, but does not deny. */
  readonly shadow: boolean;
  readonly onStoreError: StoreErrorPolicy;
}

/**
 * Where limits are kept and decided.
 *
 * A call is one atomic decision over all its charges: every rule is checked first, then all charges
 * are made or none. A denial is a value; a rejection is a store that failed. The exported
 * conformance suite is the definition of what a store must do.
 */
export interface LimitStore {
  /** No call is ever rejected: nobody has to wait to find out. */
  readonly infallible?: boolean;
  decide(charges: readonly Charge[]): Promise<Decision>;
  /** What `decide` would say; changes nothing. */
  peek(charges: readonly Charge[]): Promise<Decision>;
  /** Gives back `cost` units taken at `chargedAt`, as far as they are still held. */
  refund(charge: Charge, cost: number, chargedAt: number): Promise<void>;
  /** Forgets the subject, and a block with it. */
  reset(charge: Charge): Promise<void>;
  /** Denies the subject for `durationMs`; 0 lifts the block. */
  block(charge: Charge, durationMs: number): Promise<void>;
}

/** An event counter's answer: events in the window, and whether the threshold was reached. */
export interface CountResult {
  readonly count: number;
  readonly reached: boolean;
}

/** Where counters are kept. They deny nothing. */
export interface CounterStore {
  /** `id` undefined: an event of its own. `threshold` 0: none. */
  record(
    key: string,
    windowMs: number,
    id: string | undefined,
    threshold: number,
    clear: boolean,
  ): Promise<CountResult>;
  count(key: string, windowMs: number): Promise<number>;
  /** Counts per part of the window, oldest first. */
  timeline(key: string, windowMs: number, buckets: number): Promise<number[]>;
  remove(key: string, id: string): Promise<boolean>;
  clear(key: string): Promise<void>;
  /** Adds to the present slice; gives its count and the window's sum. */
  addToSlice(key: string, sliceMs: number, slices: number, by: number): Promise<[number, number]>;
  /** The count of each slice of the window and of the partly expired one before it, oldest first. */
  readSlices(key: string, sliceMs: number, slices: number): Promise<number[]>;
  clearSlices(key: string, sliceMs: number, slices: number): Promise<void>;
}

/** What a policy said, from a reply's flat numbers: per rule remaining, retryAfterMs, resetMs. */
export function policyDecision(
  charge: Charge,
  allowed: boolean,
  reply: readonly number[],
  at: number,
): PolicyDecision {
  const { plan, type, subject } = charge;
  const rules = new Array<RuleState>(plan.rules.length);
  for (let s = 0; s < plan.states.length; s++) {
    const { order } = plan.states[s]!;
    for (let i = 0; i < order.length; i++) {
      const place = order[i]!;
      const { limit, windowMs } = plan.rules[place]!;
      const retryAfterMs = reply[at + 1]!;
      rules[place] = {
        limit,
        windowMs,
        remaining: reply[at]!,
        resetMs: reply[at + 2]!,
        retryAfterMs: retryAfterMs === NEVER ? Infinity : retryAfterMs,
      };
      at += 3;
    }
  }
  return { name: plan.policy, type, subject, allowed, rules };
}
