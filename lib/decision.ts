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

const NONE: readonly string[] = Object.freeze([]);

/** What a decision charged, so that it can be given back. Not part of what a user sees. */
export type Receipts = readonly unknown[];

class DecisionValue implements Decision {
  /** Private, so that neither a copy, nor JSON, nor a comparison shows it. */
  #receipts: Receipts = NONE;

  constructor(
    readonly allowed: boolean,
    readonly policies: readonly PolicyDecision[],
    readonly retryAfterMs: number | null,
    readonly violated: readonly string[],
    readonly source: DecisionSource,
    readonly shadow: boolean,
    readonly decidedAt: number,
  ) {}

  static attach(decision: Decision, receipts: Receipts): void {
    if (#receipts in decision) decision.#receipts = receipts;
  }

  static receiptsOf(decision: unknown): Receipts | undefined {
    return typeof decision === 'object' && decision !== null && #receipts in decision
      ? decision.#receipts
      : undefined;
  }
}

export const attachReceipts = (decision: Decision, receipts: Receipts): void =>
  DecisionValue.attach(decision, receipts);

/** Undefined for what is no decision of this process. */
export const receiptsOf = (decision: unknown): Receipts | undefined =>
  DecisionValue.receiptsOf(decision);

/** The only way a decision is made: everything else follows from what each policy said. */
export function decide(
  policies: readonly PolicyDecision[],
  isShadow: (index: number) => boolean,
  source: DecisionSource,
  decidedAt: number,
): Decision {
  let shadow = false;
  let violated: string[] | undefined;
  let retryAfterMs: number | null = null;
  for (let i = 0; i < policies.length; i++) {
    const policy = policies[i]!;
    if (policy.allowed) continue;
    if (isShadow(i)) {
      shadow = true;
      continue;
    }
    (violated ??= []).push(policy.name);
    for (const rule of policy.rules) {
      retryAfterMs = Math.max(retryAfterMs ?? 0, rule.retryAfterMs);
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
  );
}

/** The decisions of one request, taken one after the other, as one. */
export function merge(first: Decision, second: Decision): Decision {
  const denials = [first, second].filter((one) => !one.allowed);
  const waits = denials.map((one) => one.retryAfterMs);
  const merged = new DecisionValue(
    denials.length === 0,
    [...first.policies, ...second.policies],
    waits.length === 0 || waits.includes(null) ? null : Math.max(...(waits as number[])),
    [...first.violated, ...second.violated],
    second.source === 'fallback' ? second.source : first.source,
    first.shadow || second.shadow,
    Math.max(first.decidedAt, second.decidedAt),
  );
  attachReceipts(merged, [...(receiptsOf(first) ?? NONE), ...(receiptsOf(second) ?? NONE)]);
  return merged;
}
