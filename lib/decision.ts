/**
 * Where one rule stands after a decision.
 *
 * With `{ limit: 10, window: '1m' }` on a fresh key, the first request gets
 * `{ limit: 10, windowMs: 60000, remaining: 9, resetMs: 60000, retryAfterMs: 0 }`.
 */
export interface RuleState {
  readonly limit: number;
  readonly windowMs: number;
  /** Units that could still be taken at `decidedAt`. */
  readonly remaining: number;
  /** Milliseconds until the whole limit is free again, if nothing more is taken; 0: it is now. */
  readonly resetMs: number;
  /**
   * Milliseconds until this rule admits the cost that was asked; 0: it does now; `Infinity`: never,
   * because the cost is above the limit.
   */
  readonly retryAfterMs: number;
}

/** What one policy said. */
export interface PolicyDecision {
  readonly name: string;
  /** `'ip'`, `'user-id'`, `'global'`, or `'custom'` for a function's subject. */
  readonly type: string;
  readonly subject: string;
  readonly allowed: boolean;
  /** In the order in which the rules were written. */
  readonly rules: readonly RuleState[];
}

/** Who decided: a store, the cache of known denials, or the fallback while the store was away. */
export type DecisionSource = 'redis' | 'memory' | 'deny-cache' | 'fallback';

/** The outcome for one request over all its policies. Built only by `decide` and `merge`. */
export interface Decision {
  readonly allowed: boolean;
  readonly policies: readonly PolicyDecision[];
  /**
   * Milliseconds until the same request would be allowed, alone on its keys; `null`: it is allowed,
   * or it never will be (its cost is above a limit).
   */
  readonly retryAfterMs: number | null;
  /** Names of the policies that denied. */
  readonly violated: readonly string[];
  readonly source: DecisionSource;
  /** A shadow policy would have denied. */
  readonly shadow: boolean;
  /** Store time, milliseconds since the epoch. */
  readonly decidedAt: number;
}

const NONE: readonly never[] = Object.freeze([]);

/** What a decision was about, as far as this file has to know. */
interface Chargeable {
  readonly shadow: boolean;
}

class DecisionValue implements Decision {
  /** Private, so that neither a copy, nor JSON, nor a comparison shows them. */
  readonly #charges: readonly Chargeable[];
  readonly #parts: readonly Decision[];

  constructor(
    readonly allowed: boolean,
    readonly policies: readonly PolicyDecision[],
    readonly retryAfterMs: number | null,
    readonly violated: readonly string[],
    readonly source: DecisionSource,
    readonly shadow: boolean,
    readonly decidedAt: number,
    charges: readonly Chargeable[],
    parts: readonly Decision[],
  ) {
    this.#charges = charges;
    this.#parts = parts;
  }

  static chargesOf(decision: Decision): readonly Chargeable[] {
    return #charges in decision && decision.allowed ? decision.#charges : NONE;
  }

  static partsOf(decision: unknown): readonly Decision[] | undefined {
    if (typeof decision !== 'object' || decision === null || !(#parts in decision))
      return undefined;
    return decision.#parts.length > 0 ? decision.#parts : [decision];
  }
}

/** What the decision charged, to be given back: nothing if it denied. */
export function chargesOf<C extends Chargeable>(decision: Decision): readonly C[] {
  const charges = DecisionValue.chargesOf(decision) as readonly C[];
  // A shadow policy is charged only when every policy would have admitted.
  return decision.shadow ? charges.filter((charge) => !charge.shadow) : charges;
}

/** The decisions of which this one was merged, or itself; undefined for what is none of ours. */
export const partsOf = (decision: unknown): readonly Decision[] | undefined =>
  DecisionValue.partsOf(decision);

/** The only way a decision is made: everything else follows from what each policy said. */
export function decide(
  policies: readonly PolicyDecision[],
  charges: readonly Chargeable[],
  source: DecisionSource,
  decidedAt: number,
): Decision {
  let shadow = false;
  let violated: string[] | undefined;
  let retryAfterMs: number | null = null;
  for (let i = 0; i < policies.length; i++) {
    const policy = policies[i]!;
    if (policy.allowed) continue;
    if (charges[i]!.shadow) {
      shadow = true;
      continue;
    }
    if (violated === undefined) violated = [policy.name];
    else violated.push(policy.name);
    for (let r = 0; r < policy.rules.length; r++) {
      retryAfterMs = Math.max(retryAfterMs ?? 0, policy.rules[r]!.retryAfterMs);
    }
  }
  return new DecisionValue(
    violated === undefined,
    policies,
    retryAfterMs === Infinity ? null : retryAfterMs,
    violated ?? NONE,
    source,
    shadow,
    decidedAt,
    charges,
    NONE,
  );
}

/** The decisions of one request, taken one after the other, as one. */
export function merge(first: Decision, second: Decision): Decision {
  const denials = [first, second].filter((one) => !one.allowed);
  const waits = denials.map((one) => one.retryAfterMs);
  return new DecisionValue(
    denials.length === 0,
    [...first.policies, ...second.policies],
    waits.length === 0 || waits.includes(null) ? null : Math.max(...(waits as number[])),
    [...first.violated, ...second.violated],
    second.source === 'fallback' ? second.source : first.source,
    first.shadow || second.shadow,
    Math.max(first.decidedAt, second.decidedAt),
    NONE,
    [...(partsOf(first) ?? NONE), ...(partsOf(second) ?? NONE)],
  );
}
