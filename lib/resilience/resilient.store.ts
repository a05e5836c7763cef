import { dividePlan, type Plan } from '../algorithms/plan.js';
import type { Clock } from '../clock.js';
import { chargesOf, type Decision, decide, partsOf, type PolicyDecision } from '../decision.js';
import type { StoreErrorPolicy } from '../rules/policy.js';
import type { Charge, LimitStore } from '../stores/store.js';
import type { StoreError } from '../stores/store-error.js';
import { rethrow, type StoreGate } from './store-gate.js';

/**
 * A store around two: asks the first one, in time, and when that fails does what each policy says
 * (`onStoreError`): decide by the second, admit, or refuse.
 *
 * Only a store that fails leads there, never a denial. What was charged in the one is given back in
 * the same one.
 */
export class ResilientStore implements LimitStore {
  /** Charges of the fallback, as it knows them; null: admitted without being charged anywhere. */
  private readonly elsewhere = new WeakMap<Charge, Charge | null>();
  private readonly divided = new WeakMap<Plan, Plan>();

  constructor(
    private readonly primary: LimitStore,
    private readonly fallback: LimitStore,
    private readonly gate: StoreGate,
    private readonly clock: Clock,
    /** Processes that fall back at the same time: each takes its part of the limit. */
    private readonly replicas: number,
  ) {}

  decide(charges: readonly Charge[]): Promise<Decision> {
    return this.gate.ask(
      () => this.primary.decide(charges),
      (failure) => this.withoutStore('decide', charges, failure),
      charges.some(isRefused) ? (late) => this.giveBack(late) : undefined,
    );
  }

  peek(charges: readonly Charge[]): Promise<Decision> {
    return this.gate.ask(
      () => this.primary.peek(charges),
      (failure) => this.withoutStore('peek', charges, failure),
    );
  }

  refund(charge: Charge, cost: number, chargedAt: number): Promise<void> {
    const elsewhere = this.elsewhere.get(charge);
    if (elsewhere === null) return Promise.resolve();
    if (elsewhere !== undefined) return this.fallback.refund(elsewhere, cost, chargedAt);
    return this.gate.ask(() => this.primary.refund(charge, cost, chargedAt), rethrow);
  }

  /** In both, so that what is forgotten stays so when the store goes away. */
  async reset(charge: Charge): Promise<void> {
    await this.fallback.reset(this.localCharge(charge));
    await this.gate.ask(() => this.primary.reset(charge), rethrow);
  }

  /** In both, so that who is kept out stays out when the store goes away. */
  async block(charge: Charge, durationMs: number): Promise<void> {
    await this.fallback.block(this.localCharge(charge), durationMs);
    await this.gate.ask(() => this.primary.block(charge, durationMs), rethrow);
  }

  /** Each policy as it says; one that refuses, refuses the whole decision. */
  private async withoutStore(
    operation: 'decide' | 'peek',
    charges: readonly Charge[],
    failure: StoreError,
  ): Promise<Decision> {
    if (charges.some(isRefused)) throw failure;
    const local = charges.filter((charge) => policyOf(charge) === 'local');
    const asked = local.map((charge) => this.localCharge(charge));
    const decided = local.length === 0 ? undefined : await this.fallback[operation](asked);
    const policies: PolicyDecision[] = [];
    for (const charge of charges) {
      const place = local.indexOf(charge);
      if (operation === 'decide') this.elsewhere.set(charge, asked[place] ?? null);
      policies.push(decided?.policies[place] ?? admitted(charge));
    }
    return decide(policies, charges, 'fallback', decided?.decidedAt ?? this.clock.now());
  }

  /** A request that was refused for want of an answer is not charged by the answer that comes late. */
  private giveBack(late: Decision): void {
    for (const part of partsOf(late) ?? []) {
      for (const charge of chargesOf<Charge>(part)) {
        if (charge.cost === 0) continue;
        this.primary.refund(charge, charge.cost, part.decidedAt).catch(() => undefined);
      }
    }
  }

  private localCharge(charge: Charge): Charge {
    if (this.replicas === 1) return charge;
    let plan = this.divided.get(charge.plan);
    if (plan === undefined) {
      plan = dividePlan(charge.plan, this.replicas);
      this.divided.set(charge.plan, plan);
    }
    return { ...charge, plan };
  }
}

/** A shadow policy never refuses. */
function policyOf({ onStoreError, shadow }: Charge): StoreErrorPolicy {
  return shadow && onStoreError === 'deny' ? 'allow' : onStoreError;
}

function isRefused(charge: Charge): boolean {
  return policyOf(charge) === 'deny';
}

function admitted({ plan, type, subject }: Charge): PolicyDecision {
  const rules = plan.rules.map(({ limit, windowMs }) => ({
    limit,
    windowMs,
    remaining: limit,
    resetMs: 0,
    retryAfterMs: 0,
  }));
  return { name: plan.policy, type, subject, allowed: true, rules };
}
