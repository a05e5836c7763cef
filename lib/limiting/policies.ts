import { compilePlan, type Plan } from '../algorithms/plan.js';
import { configError } from '../errors.js';
import type { SubjectType } from '../rules/limit-type.js';
import { parsePolicy, type PolicyDefinition, type StoreErrorPolicy } from '../rules/policy.js';
import type { Charge } from '../stores/store.js';

/** A policy ready to be charged: compiled once, with the module's defaults in it. */
export interface LimitPolicy {
  readonly plan: Plan;
  readonly type: SubjectType;
  readonly blockMs: number;
  readonly onStoreError: StoreErrorPolicy;
  readonly shadow: boolean;
}

export interface PolicyDefaults {
  readonly onStoreError: StoreErrorPolicy;
  readonly shadow: boolean;
}

/** Throws RateLimitConfigError that names `path`. */
export function compilePolicy(
  definition: PolicyDefinition,
  defaults: PolicyDefaults,
  path: string,
): LimitPolicy {
  const parsed = parsePolicy(definition, path);
  const { name, type, rules, lease, blockMs, onStoreError, shadow } = parsed;
  return {
    plan: compilePlan(name, rules, `${path}.rules`, lease),
    type,
    blockMs,
    onStoreError: onStoreError ?? defaults.onStoreError,
    shadow: shadow ?? defaults.shadow,
  };
}

export function chargeOf(policy: LimitPolicy, subject: string, cost: number): Charge {
  const { plan, type, blockMs, shadow, onStoreError } = policy;
  return { plan, type, subject, cost, blockMs, shadow, onStoreError };
}

/** The policies of the module by name, and those passed inline, compiled once per object. */
export class Policies {
  private readonly named = new Map<string, LimitPolicy | string>();
  private readonly inline = new WeakMap<PolicyDefinition, LimitPolicy>();

  constructor(private readonly defaults: PolicyDefaults) {}

  add(definition: PolicyDefinition, path: string): void {
    this.named.set(definition.name, compilePolicy(definition, this.defaults, path));
  }

  /** A policy that exists, but cannot be used by name alone. */
  refuse(name: string, reason: string): void {
    this.named.set(name, reason);
  }

  get(policy: string | PolicyDefinition): LimitPolicy {
    if (typeof policy === 'string') {
      const named = this.named.get(policy);
      if (typeof named === 'object') return named;
      if (named === undefined)
        throw configError.unknownPolicy('policy', policy, [...this.named.keys()]);
      throw configError.badValue('policy', policy, named);
    }
    const known = typeof policy === 'object' && policy !== null && this.inline.get(policy);
    if (known) return known;
    const compiled = compilePolicy(policy, this.defaults, `policy ${nameOf(policy)}`);
    this.inline.set(policy, compiled);
    return compiled;
  }
}

function nameOf(policy: unknown): string {
  const name = (policy as { name?: unknown } | null)?.name;
  return typeof name === 'string' ? JSON.stringify(name.slice(0, 64)) : '(without a name)';
}
