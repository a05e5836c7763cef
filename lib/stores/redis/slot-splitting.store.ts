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
    const said = new Map<Charge, Decision>();
    for (const charge of ordered) {
      const decision = await this.orGiveBack(said, this.store.decide([charge]));
      said.set(charge, decision);
      if (!decision.allowed) return this.deny(charges, said, decision);
    }
    const decisions = charges.map((charge) => said.get(charge)!);
    if (!decisions.some(({ shadow }) => shadow)) return decisions.reduce(merge);
    const settled = charges.map((charge, i) => this.spareShadow(charge, decisions[i]!));
    return (await Promise.all(settled)).reduce(merge);
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

  /** A store that fails in the middle decides nothing: what was taken before goes back, if it can. */
  private async orGiveBack(
    said: ReadonlyMap<Charge, Decision>,
    asked: Promise<Decision>,
  ): Promise<Decision> {
    try {
      return await asked;
    } catch (error) {
      for (const [charge, decision] of said) {
        this.giveBack(charge, decision).catch(() => undefined);
      }
      throw error;
    }
  }

  /** One has denied: those before it give back what they took, those after it take nothing. */
  private async deny(
    charges: readonly Charge[],
    said: ReadonlyMap<Charge, Decision>,
    { source, decidedAt }: Decision,
  ): Promise<Decision> {
    const policies = await Promise.all(
      charges.map(async (charge) => {
        const earlier = said.get(charge);
        if (earlier === undefined) return this.lookOrBlock(charge);
        if (!earlier.policies[0]!.allowed) return earlier.policies[0]!;
        await this.giveBack(charge, earlier);
        return this.look(charge);
      }),
    );
    return decide(policies, charges, source, decidedAt);
  }

  /** Shadow policies are charged only when all of them would have admitted. */
  private async spareShadow(charge: Charge, decision: Decision): Promise<Decision> {
    if (!charge.shadow || !decision.policies[0]!.allowed) return decision;
    await this.giveBack(charge, decision);
    // Without charges: there is nothing left to refund.
    return decide([await this.look(charge)], [], decision.source, decision.decidedAt);
  }

  private async giveBack(charge: Charge, { policies, decidedAt }: Decision): Promise<void> {
    // A shadow policy that would have denied was not charged.
    if (!policies[0]!.allowed || charge.cost === 0) return;
    await this.store.refund(charge, charge.cost, decidedAt);
  }

  private async look(charge: Charge): Promise<PolicyDecision> {
    return (await this.store.peek([charge])).policies[0]!;
  }

  /** A policy that denies as well keeps its subject out as well. */
  private async lookOrBlock(charge: Charge): Promise<PolicyDecision> {
    const look = await this.look(charge);
    if (look.allowed || charge.blockMs === 0) return look;
    const decision = await this.store.decide([charge]);
    // Capacity may have come back in between.
    await this.giveBack(charge, decision);
    return decision.policies[0]!;
  }
}
