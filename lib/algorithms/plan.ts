import { configError } from '../errors.js';
import type { ParsedLease } from '../rules/lease.js';
import type { ParsedRule } from '../rules/rule.js';
import type { Algorithm, ResolvedRule } from './algorithm.js';
import { ALGORITHM_NAMES, ALGORITHMS, algorithmOf } from './registry.js';

/** The rules of a policy that share one algorithm, and so one state. */
export interface PlanState {
  readonly algorithm: Algorithm;
  /** For each rule of the state, its place in the policy. */
  readonly order: readonly number[];
  readonly numbers: readonly number[];
  /** Last part of the key: the algorithm and the shape, so that another shape is another state. */
  readonly suffix: string;
}

/** A policy compiled for the stores: computed once, the same object for every request. */
export interface Plan {
  readonly policy: string;
  readonly rules: readonly ResolvedRule[];
  readonly states: readonly PlanState[];
  /** How a process takes units ahead; undefined: one by one. */
  readonly lease: PlanLease | undefined;
}

/** Blocks of `size` units, each to be spent within `ttlMs`, booked by a plan of their own. */
export interface PlanLease {
  readonly size: number;
  readonly ttlMs: number;
  readonly plan: Plan;
}

/** Throws RateLimitConfigError that names `path` and the rule. */
export function compilePlan(
  policy: string,
  parsed: readonly ParsedRule[],
  path: string,
  lease?: ParsedLease,
): Plan {
  const rules = parsed.map((rule, i) => {
    const where = parsed.length > 1 ? `${path}[${i}]` : path;
    return algorithmOf(rule.algorithm, where).parse(rule, where);
  });
  checkLongerWindows(rules, path);
  const plan = layOut(policy, rules);
  return lease === undefined ? plan : { ...plan, lease: planLease(policy, rules, lease) };
}

/** By the same rules, of windows as much longer as a lease lives. */
function planLease(policy: string, rules: readonly ResolvedRule[], lease: ParsedLease): PlanLease {
  const { size, ttlMs, path } = lease;
  const booked = rules.map((rule) => {
    const algorithm = ALGORITHMS[rule.algorithm];
    if (algorithm.lease === undefined) throw configError.notLeasable(path, rule.algorithm);
    if (size > rule.limit) {
      throw configError.badValue(`${path}.size`, size, `at most the limit of ${rule.limit}`);
    }
    if (ttlMs > rule.windowMs) {
      throw configError.badValue(`${path}.ttl`, ttlMs, `at most the window of ${rule.windowMs} ms`);
    }
    return algorithm.lease(rule, ttlMs);
  });
  return { size, ttlMs, plan: layOut(policy, booked) };
}

/** The plan of one among `parts` that share what the policy grants. */
export function dividePlan({ policy, rules }: Plan, parts: number): Plan {
  return layOut(
    policy,
    rules.map((rule) => ALGORITHMS[rule.algorithm].share(rule, parts)),
  );
}

function layOut(policy: string, rules: readonly ResolvedRule[]): Plan {
  const states = ALGORITHM_NAMES.flatMap((name) => {
    const places = rules.flatMap((rule, i) => (rule.algorithm === name ? [i] : []));
    if (places.length === 0) return [];
    const algorithm = ALGORITHMS[name];
    const { order, numbers, shape } = algorithm.layout(places.map((i) => rules[i]!));
    return [
      {
        algorithm,
        order: order.map((i) => places[i]!),
        numbers,
        suffix: `${name}.${shape}`,
      },
    ];
  });
  return { policy, rules, states, lease: undefined };
}

/** Two plans that decide alike for every request. */
export function samePlan(a: Plan, b: Plan): boolean {
  return (
    sameLease(a.lease, b.lease) &&
    a.states.length === b.states.length &&
    a.states.every(
      (state, i) =>
        state.suffix === b.states[i]!.suffix &&
        state.numbers.join() === b.states[i]!.numbers.join(),
    )
  );
}

function sameLease(a: PlanLease | undefined, b: PlanLease | undefined): boolean {
  return a?.size === b?.size && a?.ttlMs === b?.ttlMs;
}

/** A bucket's limit is what it holds, not what passes in its window: it is not compared. */
function checkLongerWindows(rules: readonly ResolvedRule[], path: string): void {
  const counted = rules.filter((rule) => rule.algorithm !== 'token-bucket');
  for (const longer of counted) {
    for (const shorter of counted) {
      if (longer.windowMs > shorter.windowMs && longer.limit < shorter.limit) {
        throw configError.longerWindowLowerLimit(path, describe(longer), describe(shorter));
      }
    }
  }
}

function describe({ limit, windowMs }: ResolvedRule): string {
  return `{ limit: ${limit}, window: ${windowMs} }`;
}
