import type { AlgorithmName, ParsedRule } from '../rules/rule.js';

/** A rule whose every number is known. */
export interface ResolvedRule {
  readonly algorithm: AlgorithmName;
  readonly limit: number;
  readonly windowMs: number;
}

/** How the rules of one policy that share one algorithm share one state. */
export interface Layout {
  /** The rules' places in the order in which `numbers` has them. */
  readonly order: readonly number[];
  /** What check, commit, repair, refund and block get, here and in Lua. */
  readonly numbers: readonly number[];
  /** What the state's form depends on: state of another shape is never read. */
  readonly shape: string;
}

/** What a check found, as bits. */
export const ADMITS = 1;
/** The state is dated after now: the clock has stepped back. */
export const AHEAD = 2;

/** Sent for "no wait helps": a cost above the limit. */
export const NEVER = -1;

/** A key outlives what it holds by this much, so that its expiry never decides anything. */
export const GRACE_MS = 1000;

/**
 * One limiting algorithm. Its Lua twin is lua/algorithms/<name>.lua: the same steps, names and
 * integers, held together by test/differential.
 *
 * Replies are flat: per rule, in the layout's order, remaining, retryAfterMs (or NEVER) and resetMs,
 * from `at` on. A state is owned by its store; commit, repair and refund may change it in place.
 */
export interface Algorithm<R extends ResolvedRule = ResolvedRule, S = unknown> {
  readonly name: AlgorithmName;
  /** Throws RateLimitConfigError that names `path`. */
  parse(rule: ParsedRule, path: string): R;
  layout(rules: readonly R[]): Layout;
  /** The rule of one among `parts` that share what it grants: never less than one unit of it. */
  share(rule: R, parts: number): R;
  /**
   * The rule by which units are booked that are taken ahead and spent within `ttlMs`, so that the
   * promise holds for when they are spent; undefined: there is none.
   */
  lease?(this: void, rule: R, ttlMs: number): R;
  /** Changes nothing. Returns ADMITS and AHEAD as bits. */
  check(
    state: S | undefined,
    numbers: readonly number[],
    cost: number,
    now: number,
    reply: number[],
    at: number,
  ): number;
  /** Takes `cost` units from every rule; to be called after a check that admits, at the same `now`. */
  commit(
    state: S | undefined,
    numbers: readonly number[],
    cost: number,
    now: number,
    reply: number[],
    at: number,
  ): S;
  /** Dates now what is dated after now. */
  repair(state: S, numbers: readonly number[], now: number): S;
  /** Gives back what was taken at `chargedAt`, as far as it is still held; undefined: nothing left. */
  refund(
    state: S,
    numbers: readonly number[],
    cost: number,
    chargedAt: number,
    now: number,
  ): S | undefined;
  /** How long the state matters from now on. */
  lifeMs(state: S | undefined, numbers: readonly number[]): number;
}

/** A part of a number of units: rounded down, so that the parts together are not more; 0 stays 0. */
export function partOf(units: number, parts: number): number {
  return Math.min(units, Math.max(1, Math.floor(units / parts)));
}

/** For algorithms whose units are counted by their limit alone. */
export function shareLimit<R extends ResolvedRule>(rule: R, parts: number): R {
  return { ...rule, limit: partOf(rule.limit, parts) };
}

/** Positions of the rules, the longest window first. */
export function longestFirst(rules: readonly ResolvedRule[]): number[] {
  return rules.map((_, i) => i).sort((a, b) => rules[b]!.windowMs - rules[a]!.windowMs);
}
