import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.js';
import { decide, type Decision, type PolicyDecision, type RuleState } from '../decision.js';
import { subjectKey } from './keys.js';
import type { Charge, LimitStore } from './store.js';

export interface DenialCacheOptions {
  readonly maxKeys: number;
  readonly maxAgeMs: number;
}

/** A denial, as long as it is sure to be the store's answer still. */
interface Denial {
  readonly charges: readonly Charge[];
  readonly decision: Decision;
  /** When the question was sent: the store's own moment was not earlier. */
  readonly sentAt: number;
  readonly until: number;
  /** How many amendments there had been. */
  readonly amendments: number;
  /** The answer given last, for all who ask in the same millisecond. */
  answer: Decision | undefined;
  answeredAt: number;
}

/** Both clocks count whole milliseconds, and each may be about to tick. */
const MARGIN_MS = 2;

/**
 * Around a store: answers what is known to be denied, without asking.
 *
 * A denial holds until its `retryAfterMs` has passed since the question was sent, because capacity
 * does not come back earlier on its own. What brings it back earlier (refund, reset, unblock, other
 * rules) clears it here at once; when another process does that, it is seen after `maxAgeMs`. What
 * the answer says beside that, `remaining` and the policies that did not deny, is as it was.
 */
export class DenialCacheStore implements LimitStore {
  /** By the subject that is denied longest of a decision's. */
  private readonly denials: LRUCache<string, Denial>;
  /** What was sent before an amendment may be denied by what is no longer so. */
  private amendments = 0;
  private latest = 0;

  constructor(
    private readonly store: LimitStore,
    private readonly options: DenialCacheOptions,
    /** That of the store, or one that runs as fast. */
    private readonly clock: Clock,
  ) {
    this.denials = new LRUCache({ max: options.maxKeys });
  }

  decide(charges: readonly Charge[]): Promise<Decision> {
    const now = this.clock.now();
    if (now < this.latest) this.denials.clear();
    this.latest = now;
    const known = this.denials.size === 0 ? undefined : this.find(charges, now);
    if (known !== undefined) return Promise.resolve(known);
    const { amendments } = this;
    return this.store.decide(charges).then((decision) => {
      if (!decision.allowed) {
        if (this.amendments === amendments) this.learn(charges, decision, now);
      } else if (this.denials.size > 0) {
        // A denial of a higher cost stays one, but has to wait longer now.
        for (const charge of charges) this.denials.delete(subjectKey(charge));
      }
      return decision;
    });
  }

  peek(charges: readonly Charge[]): Promise<Decision> {
    return this.store.peek(charges);
  }

  refund(charge: Charge, cost: number, chargedAt: number): Promise<void> {
    return this.amend(charge, () => this.store.refund(charge, cost, chargedAt));
  }

  reset(charge: Charge): Promise<void> {
    return this.amend(charge, () => this.store.reset(charge));
  }

  block(charge: Charge, durationMs: number): Promise<void> {
    return this.amend(charge, () => this.store.block(charge, durationMs));
  }

  private async amend(charge: Charge, amendment: () => Promise<void>): Promise<void> {
    this.forget(charge);
    try {
      await amendment();
    } finally {
      this.forget(charge);
    }
  }

  private forget(charge: Charge): void {
    this.amendments++;
    this.denials.delete(subjectKey(charge));
  }

  private find(charges: readonly Charge[], now: number): Decision | undefined {
    for (const charge of charges) {
      const key = subjectKey(charge);
      const denial = this.denials.get(key);
      if (denial === undefined) continue;
      if (now >= denial.until || !knowsPlan(denial, charge) || this.isAmended(denial)) {
        this.denials.delete(key);
      } else if (sameCharges(denial.charges, charges)) {
        return answer(denial, now);
      }
    }
    return undefined;
  }

  /** Of several policies another one than the longest denied may have been amended. */
  private isAmended({ charges, amendments }: Denial): boolean {
    return charges.length > 1 && amendments !== this.amendments;
  }

  private learn(charges: readonly Charge[], decision: Decision, sentAt: number): void {
    if (decision.source !== 'redis') return;
    let longest = 0;
    let place = 0;
    for (let i = 0; i < charges.length; i++) {
      if (charges[i]!.shadow) continue;
      for (const { retryAfterMs } of decision.policies[i]!.rules) {
        if (retryAfterMs > longest) {
          longest = retryAfterMs;
          place = i;
        }
      }
    }
    const until = sentAt + Math.min(longest - MARGIN_MS, this.options.maxAgeMs);
    if (until <= sentAt) return;
    this.denials.set(subjectKey(charges[place]!), {
      charges,
      decision,
      sentAt,
      until,
      amendments: this.amendments,
      answer: undefined,
      answeredAt: 0,
    });
  }
}

/** Under other rules the state that denied may have become another one. */
function knowsPlan({ charges }: Denial, { plan, type, subject }: Charge): boolean {
  return charges.some(
    (known) => known.plan === plan && known.type === type && known.subject === subject,
  );
}

function sameCharges(known: readonly Charge[], asked: readonly Charge[]): boolean {
  if (known.length !== asked.length) return false;
  for (let i = 0; i < known.length; i++) {
    const a = known[i]!;
    const b = asked[i]!;
    if (
      a.plan !== b.plan ||
      a.cost !== b.cost ||
      a.subject !== b.subject ||
      a.type !== b.type ||
      a.shadow !== b.shadow ||
      a.blockMs !== b.blockMs
    ) {
      return false;
    }
  }
  return true;
}

function answer(denial: Denial, now: number): Decision {
  if (denial.answer === undefined || denial.answeredAt !== now) {
    const { charges, decision, sentAt } = denial;
    const elapsedMs = now - sentAt;
    denial.answer = decide(
      decision.policies.map((policy) => aged(policy, elapsedMs)),
      charges,
      'deny-cache',
      decision.decidedAt + elapsedMs,
    );
    denial.answeredAt = now;
  }
  return denial.answer;
}

/** The same policy later, if nothing has happened since: `remaining` is not more than it says. */
function aged(policy: PolicyDecision, elapsedMs: number): PolicyDecision {
  const rules: RuleState[] = policy.rules.map((rule) => ({
    ...rule,
    resetMs: Math.max(0, rule.resetMs - elapsedMs),
    retryAfterMs: Math.max(0, rule.retryAfterMs - elapsedMs),
  }));
  return { ...policy, allowed: rules.every(({ retryAfterMs }) => retryAfterMs === 0), rules };
}
