import type { Plan } from '../algorithms/plan.js';
import type { Clock } from '../clock.js';
import type { Decision, DecisionSource, PolicyDecision, RuleState } from '../decision.js';
import type { Charge } from './store.js';

/** Both clocks count whole milliseconds, and each may be about to tick. */
const MARGIN_MS = 2;

/** A block of units that is booked, and spent by this process until `endsAt`. */
export class Lease {
  units: number;
  readonly source: DecisionSource;
  /** The store's moment. */
  readonly bookedAt: number;
  /** By the clock of this process. */
  readonly endsAt: number;
  private readonly ending = new AbortController();

  constructor(
    /** As the store knows it, to be given back. */
    readonly booked: Charge,
    plan: Plan,
    /** The store's word at the booking, with the windows that the user wrote. */
    private readonly known: PolicyDecision,
    booking: Decision,
    /** The store's moment was not earlier. */
    private readonly sentAt: number,
  ) {
    this.units = booked.cost;
    this.source = booking.source;
    this.bookedAt = booking.decidedAt;
    this.endsAt = sentAt + lifeOf(booked, plan, known) - MARGIN_MS;
  }

  /** Calls `end` when the block's life is over, unless it is dropped before. */
  endBy(clock: Clock, end: () => void): void {
    const left = Math.max(0, this.endsAt - clock.now());
    clock.sleep(left, this.ending.signal).then(end, () => undefined);
  }

  drop(): void {
    this.ending.abort();
  }

  /** What is known: the store's word at the booking, and what is left of the block. */
  policy(now: number): PolicyDecision {
    const elapsedMs = now - this.sentAt;
    return { ...this.known, rules: this.known.rules.map((rule) => this.rule(rule, elapsedMs)) };
  }

  decidedAt(now: number): number {
    return this.bookedAt + now - this.sentAt;
  }

  private rule(rule: RuleState, elapsedMs: number): RuleState {
    return {
      ...rule,
      remaining: Math.min(rule.limit, rule.remaining + this.units),
      resetMs: Math.max(0, rule.resetMs - elapsedMs),
    };
  }
}

/** A rule whose window is not booked longer than written is spent before its window ends. */
function lifeOf({ plan: bookedBy }: Charge, plan: Plan, { rules }: PolicyDecision): number {
  let lifeMs = plan.lease!.ttlMs;
  rules.forEach(({ windowMs, resetMs }, i) => {
    if (bookedBy.rules[i]!.windowMs === windowMs) lifeMs = Math.min(lifeMs, resetMs);
  });
  return lifeMs;
}
