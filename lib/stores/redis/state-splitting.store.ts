import type { PlanState } from '../../algorithms/plan.js';
import { decide, type Decision, partsOf, type RuleState } from '../../decision.js';
import type { Charge, LimitStore } from '../store.js';
import { StoreError } from '../store-error.js';
import { MOVING } from './script-runner.js';
import { SlotSplittingStore } from './slot-splitting.store.js';

/**
 * Around a store on a cluster that is asked about one policy at a time.
 *
 * While a slot is moving its keys are on two servers, and a call over several keys is refused by
 * both. A policy of one algorithm is one key and never meets that. For one of several, its states
 * are then decided one after the other, and if a later one denies, what the earlier ones took is
 * given back.
 */
export class StateSplittingStore implements LimitStore {
  private readonly inTurn: LimitStore;

  constructor(private readonly store: LimitStore) {
    this.inTurn = new SlotSplittingStore(store);
  }

  decide(charges: readonly [Charge]): Promise<Decision> {
    return orByState(this.store.decide(charges), charges[0], async (parts) =>
      joined(charges[0], await this.inTurn.decide(parts)),
    );
  }

  peek(charges: readonly [Charge]): Promise<Decision> {
    return orByState(this.store.peek(charges), charges[0], async (parts) =>
      joined(charges[0], await this.inTurn.peek(parts)),
    );
  }

  refund(charge: Charge, cost: number, chargedAt: number): Promise<void> {
    return orByState(this.store.refund(charge, cost, chargedAt), charge, (parts) =>
      each(parts, (part) => this.store.refund(part, cost, chargedAt)),
    );
  }

  reset(charge: Charge): Promise<void> {
    return orByState(this.store.reset(charge), charge, (parts) =>
      each(parts, (part) => this.store.reset(part)),
    );
  }

  block(charge: Charge, durationMs: number): Promise<void> {
    // Blocking touches one key; only lifting touches all.
    return orByState(this.store.block(charge, durationMs), charge, (parts) =>
      each(parts, (part) => this.store.block(part, durationMs)),
    );
  }
}

async function orByState<T>(
  asked: Promise<T>,
  charge: Charge,
  byState: (parts: readonly Charge[]) => Promise<T>,
): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    const moving = error instanceof StoreError && error.reason === MOVING;
    if (!moving || charge.plan.states.length === 1) throw error;
    return byState(inOrder(charge).map((state) => partOf(charge, state)));
  }
}

async function each(
  parts: readonly Charge[],
  change: (part: Charge) => Promise<void>,
): Promise<void> {
  await Promise.all(parts.map(change));
}

/** The log first: it is charged at the moment that the decision names, and the others not before it. */
function inOrder({ plan }: Charge): readonly PlanState[] {
  const place = ({ algorithm }: PlanState) => (algorithm.name === 'sliding-log' ? 0 : 1);
  return [...plan.states].sort((a, b) => place(a) - place(b));
}

/** The charge as if its policy had the rules of one state alone; the key is the same. */
function partOf(charge: Charge, state: PlanState): Charge {
  const { plan } = charge;
  const rules = state.order.map((place) => plan.rules[place]!);
  const states = [{ ...state, order: rules.map((_, i) => i) }];
  // Whether a shadow policy denies is found out as for any other.
  return { ...charge, shadow: false, plan: { ...plan, rules, states } };
}

/** What the states said, as what the policy said. */
function joined(charge: Charge, decision: Decision): Decision {
  const { policy: name, rules } = charge.plan;
  const placed = new Array<RuleState>(rules.length);
  inOrder(charge).forEach(({ order }, s) => {
    order.forEach((place, i) => (placed[place] = decision.policies[s]!.rules[i]!));
  });
  const { type, subject } = charge;
  const policies = [{ name, type, subject, allowed: decision.allowed, rules: placed }];
  // By its moment a log finds what is to be given back.
  const { decidedAt } = partsOf(decision)![0]!;
  return decide(policies, [charge], decision.source, decidedAt);
}
