import { ADMITS, AHEAD, GRACE_MS, NEVER } from '../../algorithms/algorithm.js';
import type { PlanState } from '../../algorithms/plan.js';
import type { Clock } from '../../clock.js';
import { decide, type Decision, type DecisionSource, type PolicyDecision } from '../../decision.js';
import { boundText } from '../keys.js';
import { type Charge, type LimitStore, policyDecision } from '../store.js';
import {
  type BoundedMap,
  DENIED,
  type Entry,
  EXHAUSTED,
  ROOMY,
  type Space,
} from './bounded-map.js';

/**
 * Limits of one process: the twin of the Lua scripts, over one bounded map.
 *
 * Decisions are made synchronously, so nothing can come between check and commit.
 */
export class MemoryStore implements LimitStore {
  readonly infallible = true;
  /** Reused by every decision: numbers as a script would reply them. */
  private readonly reply: number[] = [];
  private readonly spaces = new WeakMap<PlanState, Map<string, Space<unknown>>>();

  constructor(
    private readonly entries: BoundedMap<unknown>,
    private readonly clock: Clock,
    private readonly source: DecisionSource = 'memory',
  ) {}

  decide(charges: readonly Charge[]): Promise<Decision> {
    return Promise.resolve(this.decideNow(charges));
  }

  /** `decide` without a promise, for millions of decisions in a row. */
  decideNow(charges: readonly Charge[]): Decision {
    const charge = charges[0]!;
    return charges.length === 1 && charge.plan.states.length === 1
      ? this.decideOne(charges, charge, charge.plan.states[0]!)
      : this.decideAll(charges, false);
  }

  peek(charges: readonly Charge[]): Promise<Decision> {
    return Promise.resolve(this.decideAll(charges, true));
  }

  refund(charge: Charge, cost: number, chargedAt: number): Promise<void> {
    const now = this.clock.now();
    for (const state of charge.plan.states) {
      const entry = this.find(charge, state, now);
      if (entry?.value === undefined) continue;
      entry.value = state.algorithm.refund(entry.value, state.numbers, cost, chargedAt, now);
      this.entries.rank(entry, entry.blockedUntil > now ? DENIED : ROOMY);
    }
    return Promise.resolve();
  }

  reset(charge: Charge): Promise<void> {
    for (const state of charge.plan.states) {
      this.entries.delete(this.spaceOf(charge, state), boundText(charge.subject));
    }
    return Promise.resolve();
  }

  block(charge: Charge, durationMs: number): Promise<void> {
    const now = this.clock.now();
    for (const state of durationMs > 0 ? charge.plan.states.slice(0, 1) : charge.plan.states) {
      this.blockState(charge, state, durationMs > 0 ? now + durationMs : 0, now);
    }
    return Promise.resolve();
  }

  /** One state: found once. Twin of lua/frames/decide-one.lua. */
  private decideOne(charges: readonly Charge[], charge: Charge, state: PlanState): Decision {
    const now = this.clock.now();
    const { reply } = this;
    const { algorithm, numbers } = state;
    const space = this.spaceOf(charge, state);
    const key = boundText(charge.subject);
    const entry = this.entries.get(space, key, now);
    const verdict = algorithm.check(entry?.value, numbers, charge.cost, now, reply, 0);
    const blocked = entry !== undefined && entry.blockedUntil > now;
    const ok = (verdict & ADMITS) !== 0 && !blocked;
    if (blocked) denyUntil(entry.blockedUntil, now, reply, 0, 3 * state.order.length);
    if (!ok) this.deny(charge, state, entry, verdict, blocked, now);
    else if (charge.cost > 0) {
      this.charge(entry ?? this.entries.open(space, key, now), state, charge.cost, now, reply, 0);
    }
    return decide([policyDecision(charge, ok, reply, 0)], charges, this.source, now);
  }

  private deny(
    charge: Charge,
    state: PlanState,
    entry: Entry<unknown> | undefined,
    verdict: number,
    blocked: boolean,
    now: number,
  ): void {
    if (entry !== undefined) {
      if ((verdict & AHEAD) !== 0) this.repair(entry, state, now);
      this.entries.rank(entry, DENIED);
    }
    if (!blocked && charge.blockMs > 0) {
      this.blockState(charge, state, now + charge.blockMs, now);
      denyUntil(now + charge.blockMs, now, this.reply, 0, 3 * state.order.length);
    }
  }

  /** Several states: all are checked, then all are charged. Twin of lua/frames/decide-all.lua. */
  private decideAll(charges: readonly Charge[], peek: boolean): Decision {
    const now = this.clock.now();
    const reply = this.reply;
    const checks = new Array<boolean>(charges.length);
    let enforced = true;
    let all = true;
    let at = 0;
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      const ok = this.check(charge, now, reply, at);
      checks[i] = ok;
      all &&= ok;
      enforced &&= ok || charge.shadow;
      at += 3 * charge.plan.rules.length;
    }
    const policies = new Array<PolicyDecision>(charges.length);
    at = 0;
    for (let i = 0; i < charges.length; i++) {
      const charge = charges[i]!;
      if (!peek) {
        if (all || (enforced && !charge.shadow)) {
          if (charge.cost > 0) this.commit(charge, now, reply, at);
        } else {
          this.leave(charge, checks[i]!, now, reply, at);
        }
      }
      policies[i] = policyDecision(charge, checks[i]!, reply, at);
      at += 3 * charge.plan.rules.length;
    }
    return decide(policies, charges, this.source, now);
  }

  private check(charge: Charge, now: number, reply: number[], at: number): boolean {
    const start = at;
    let ok = true;
    let blockedUntil = 0;
    for (const state of charge.plan.states) {
      const entry = this.find(charge, state, now);
      const verdict = state.algorithm.check(
        entry?.value,
        state.numbers,
        charge.cost,
        now,
        reply,
        at,
      );
      if ((verdict & ADMITS) === 0) ok = false;
      if (entry !== undefined) blockedUntil = Math.max(blockedUntil, entry.blockedUntil);
      at += 3 * state.order.length;
    }
    if (blockedUntil <= now) return ok;
    denyUntil(blockedUntil, now, reply, start, at);
    return false;
  }

  private commit(charge: Charge, now: number, reply: number[], at: number): void {
    for (const state of charge.plan.states) {
      this.charge(this.open(charge, state, now), state, charge.cost, now, reply, at);
      at += 3 * state.order.length;
    }
  }

  private charge(
    entry: Entry<unknown>,
    { algorithm, numbers, order }: PlanState,
    cost: number,
    now: number,
    reply: number[],
    at: number,
  ): void {
    entry.value = algorithm.commit(entry.value, numbers, cost, now, reply, at);
    entry.blockedUntil = 0;
    this.entries.keep(entry, now + algorithm.lifeMs(entry.value, numbers) + GRACE_MS);
    let rank = ROOMY;
    for (const stop = at + 3 * order.length; at < stop; at += 3) {
      if (reply[at] === 0) rank = EXHAUSTED;
    }
    this.entries.rank(entry, rank);
  }

  /** What a denial leaves behind: the repair after a clock step back, and the block if there is one. */
  private leave(charge: Charge, ok: boolean, now: number, reply: number[], at: number): void {
    const start = at;
    let blocked = false;
    for (const state of charge.plan.states) {
      const entry = this.find(charge, state, now);
      if (entry !== undefined) {
        blocked ||= entry.blockedUntil > now;
        this.repair(entry, state, now);
        if (!ok) this.entries.rank(entry, DENIED);
      }
      at += 3 * state.order.length;
    }
    if (!ok && !blocked && charge.blockMs > 0) {
      this.blockState(charge, charge.plan.states[0]!, now + charge.blockMs, now);
      denyUntil(now + charge.blockMs, now, reply, start, at);
    }
  }

  private repair(entry: Entry<unknown>, state: PlanState, now: number): void {
    if (entry.value === undefined) return;
    const scratch: number[] = [];
    if ((state.algorithm.check(entry.value, state.numbers, 0, now, scratch, 0) & AHEAD) === 0)
      return;
    entry.value = state.algorithm.repair(entry.value, state.numbers, now);
    const life = state.algorithm.lifeMs(entry.value, state.numbers);
    this.entries.keep(entry, Math.max(now + life, entry.blockedUntil) + GRACE_MS);
  }

  private blockState(charge: Charge, state: PlanState, until: number, now: number): void {
    const entry = until > 0 ? this.open(charge, state, now) : this.find(charge, state, now);
    if (entry === undefined) return;
    entry.blockedUntil = until;
    if (until > 0) {
      this.entries.keep(entry, Math.max(entry.expiresAt, until + GRACE_MS));
      this.entries.rank(entry, DENIED);
    }
  }

  private find(charge: Charge, state: PlanState, now: number): Entry<unknown> | undefined {
    return this.entries.get(this.spaceOf(charge, state), boundText(charge.subject), now);
  }

  private open(charge: Charge, state: PlanState, now: number): Entry<unknown> {
    return this.entries.open(this.spaceOf(charge, state), boundText(charge.subject), now);
  }

  /** Plans of one policy and shape share a space, as their keys in Redis are one. */
  private spaceOf({ plan, type }: Charge, state: PlanState): Space<unknown> {
    let byType = this.spaces.get(state);
    const known = byType?.get(type);
    if (known?.alive) return known;
    if (byType === undefined) {
      byType = new Map();
      this.spaces.set(state, byType);
    }
    const space = this.entries.space(`${plan.policy}|${type}|${state.suffix}`);
    byType.set(type, space);
    return space;
  }
}

/** While a block stands nothing is left, and nothing passes before it ends. */
function denyUntil(until: number, now: number, reply: number[], at: number, stop: number): void {
  for (; at < stop; at += 3) {
    reply[at] = 0;
    if (reply[at + 1] !== NEVER) reply[at + 1] = Math.max(reply[at + 1]!, until - now);
    reply[at + 2] = Math.max(reply[at + 2]!, until - now);
  }
}
