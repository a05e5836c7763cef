import { decide, type Decision, merge, type PolicyDecision } from '../../decision.js';
import type { SubjectType } from '../../rules/limit-type.js';
import type { Charge, LimitStore } from '../store.js';

/** What is counted for everybody comes last, so that a denial before it costs nobody else. */
const ORDER: readonly SubjectType[] = ['ip', 'user-id', 'custom', 'global'];

/**
 * Around a store on a cluster, where one call touches one slot: the policies of a decision live on
 * slots of their own, so they are decided one after the other, and if a later one denies, what the
 * earlier ones took is given back.
 */
export class SlotSplittingStore implements LimitStore {
  constructor(private readonly store: LimitStore) {}

  async decide(charges: readonly Charge[]): Promise<Decision> {
    if (charges.length === 1) return this.store.decide(charges);
    const ordered = [...charges].sort((a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type));
    const taken: Decision[] = [];
    for (const [i, charge] of ordered.entries()) {
      const decision = await this.store.decide([charge]);
      taken.push(decision);
      if (!decision.allowed) return this.giveBack(ordered, taken, i);
    }
    return taken.reduce(merge);
  }

  async peek(charges: readonly Charge[]): Promise<Decision> {
    const looks = await Promise.all(charges.map((charge) => this.store.peek([charge])));
    return looks.reduce(merge);
  }

  refund(charge: Charge, cost: number, chargedAt: number): Promise<void> {
    return this.store.refund(charge, cost, chargedAt);
  }

  reset(charge: Charge): Promise<void> {
    return this.store.reset(charge);
  }

  block(charge: Charge, durationMs: number): Promise<void> {
    return this.store.block(charge, durationMs);
  }

  /** A denial over all charges; those before number `denied` have been made, those after have not. */
  private async giveBack(
    charges: readonly Charge[],
    taken: readonly Decision[],
    denied: number,
  ): Promise<Decision> {
    const policies: PolicyDecision[] = await Promise.all(
      charges.map(async (charge, i) => {
        if (i === denied) return taken[i]!.policies[0]!;
        const earlier = taken[i];
        // A shadow policy that would have denied was not charged.
        if (earlier?.policies[0]!.allowed && charge.cost > 0) {
          await this.store.refund(charge, charge.cost, earlier.decidedAt);
        }
        return (await this.store.peek([charge])).policies[0]!;
      }),
    );
    const { source, decidedAt } = taken[denied]!;
    return decide(policies, charges, source, decidedAt);
  }
}
