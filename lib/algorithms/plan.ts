import { configError } from '../errors.js';
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
}

/** Throws RateLimitConfigError that names `path` and the rule. */
export function compilePlan(policy: string, parsed: readonly ParsedRule[], path: string): Plan {
  const rules = parsed.map((rule, i) => {
    const where = parsed.length > 1 ? `${path}[${i}]` : path;
    return algorithmOf(rule.algorithm, where).parse(rule, where);
  });
  checkLongerWindows(rules, path);
  return layOut(policy, rules);
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
  return { policy, rules, states };
}

/** Two plans that decide alike for every request. */
export function samePlan(a: Plan, b: Plan): boolean {
  return (
    a.states.length === b.states.length &&
    a.states.every(
      (state, i) =>
        state.suffix === b.states[i]!.suffix &&
        state.numbers.join() === b.states[i]!.numbers.join(),
    )
  );
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
