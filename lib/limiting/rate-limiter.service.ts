import type { Clock } from '../clock.js';
import { attachReceipts, type Decision, receiptsOf } from '../decision.js';
import { checkInteger, checkKeys, configError } from '../errors.js';
import { canonicalSubject } from '../rules/ip-address.js';
import { type Duration, parseDuration } from '../rules/duration.js';
import type { PolicyDefinition } from '../rules/policy.js';
import type { Charge, LimitStore } from '../stores/store.js';
import { chargeOf, type LimitPolicy, type Policies } from './policies.js';

/** A policy of the module by its name, or a definition of your own. */
export type PolicyReference = string | PolicyDefinition;

export interface ConsumeOptions {
  /** Units taken. @default 1 */
  cost?: number;
}

export interface WaitOptions extends ConsumeOptions {
  /** The longest wait; when capacity returns later than that, the denial is returned at once. */
  maxWait?: Duration;
  /** Ends the wait with the signal's reason. */
  signal?: AbortSignal;
}

/** What one decision charged and has not given back. */
interface Receipt {
  readonly charge: Charge;
  readonly chargedAt: number;
  left: number;
}

/**
 * Limits for whatever has a name: jobs, tenants, outgoing calls. The guard uses it too.
 *
 * A denial is a value, never a rejection; what rejects is a bad argument
 * (`RateLimitConfigError`) and, under `onStoreError: 'deny'`, a store that is away
 * (`RateLimitUnavailableException`).
 *
 * @example
 * const like = { name: 'like', rules: [{ limit: 5, window: '1m' }] } as const;
 * const decision = await limiter.consume(like, user.id);
 * if (!decision.allowed) return `try again in ${decision.retryAfterMs} ms`;
 */
export class RateLimiterService {
  constructor(
    private readonly store: LimitStore,
    private readonly policies: Policies,
    private readonly clock: Clock,
    private readonly ipv6Prefix: number,
  ) {}

  /** Takes `cost` units, or none if a rule has too few left. */
  async consume(
    policy: PolicyReference,
    subject: string,
    options: ConsumeOptions = {},
  ): Promise<Decision> {
    checkKeys(options, ['cost'], 'consume options');
    return this.decide([this.charge(policy, subject, options.cost)]);
  }

  /** What `consume` of one unit would say now. Changes nothing. */
  async peek(policy: PolicyReference, subject: string): Promise<Decision> {
    return this.store.peek([this.charge(policy, subject)]);
  }

  /**
   * Gives back what a decision took, or `cost` units of it; never more than it took, however often
   * it is called. Units that have left their window since are gone: a refund neither raises the
   * allowance above the limit nor reaches into another window.
   */
  async refund(decision: Decision, cost?: number): Promise<void> {
    const receipts = receiptsOf(decision) as readonly Receipt[] | undefined;
    if (receipts === undefined) {
      throw configError.badValue('decision', decision, 'a decision that consume has returned');
    }
    if (cost !== undefined) checkInteger(cost, 'cost', 0);
    await Promise.all(receipts.map((receipt) => this.giveBack(receipt, cost ?? receipt.left)));
  }

  /** Forgets what the subject has used, and a block with it. */
  async reset(policy: PolicyReference, subject: string): Promise<void> {
    await this.store.reset(this.charge(policy, subject));
  }

  /** Denies the subject for `duration`, whatever it has left. A block replaces an earlier one. */
  async block(policy: PolicyReference, subject: string, duration: Duration): Promise<void> {
    const durationMs = parseDuration(duration, 'duration');
    await this.store.block(this.charge(policy, subject), durationMs);
  }

  /** Lifts a block; what the subject has used stays used. */
  async unblock(policy: PolicyReference, subject: string): Promise<void> {
    await this.store.block(this.charge(policy, subject), 0);
  }

  /**
   * Consumes as soon as it can. Returns a denial when that is later than `maxWait`, or never
   * (a cost above the limit); rejects with the signal's reason when it is aborted.
   */
  async waitFor(
    policy: PolicyReference,
    subject: string,
    options: WaitOptions = {},
  ): Promise<Decision> {
    checkKeys(options, ['cost', 'maxWait', 'signal'], 'waitFor options');
    const { cost, maxWait, signal } = options;
    const charges = [this.charge(policy, subject, cost)];
    const maxWaitMs = maxWait === undefined ? Infinity : parseDuration(maxWait, 'maxWait');
    const deadline = this.clock.now() + maxWaitMs;
    for (;;) {
      signal?.throwIfAborted();
      const decision = await this.decide(charges);
      const wait = decision.retryAfterMs;
      if (decision.allowed || wait === null || this.clock.now() + wait > deadline) return decision;
      await this.clock.sleep(wait, signal);
    }
  }

  /** @internal One decision over several policies, for the guard. */
  async decide(charges: readonly Charge[]): Promise<Decision> {
    const decision = await this.store.decide(charges);
    if (decision.allowed) attachReceipts(decision, receiptsFor(charges, decision));
    return decision;
  }

  /** @internal What one of the decision's charges took. */
  async refundCharge(decision: Decision, charge: Charge): Promise<void> {
    const receipts = receiptsOf(decision) as readonly Receipt[] | undefined;
    const receipt = receipts?.find((one) => one.charge === charge);
    if (receipt !== undefined) await this.giveBack(receipt, receipt.left);
  }

  private async giveBack(receipt: Receipt, cost: number): Promise<void> {
    const given = Math.min(receipt.left, cost);
    if (given === 0) return;
    receipt.left -= given;
    await this.store.refund(receipt.charge, given, receipt.chargedAt);
  }

  private charge(policy: PolicyReference, subject: string, cost = 1): Charge {
    const compiled = this.policies.get(policy);
    checkInteger(cost, 'cost', 0);
    return chargeOf(compiled, this.subject(compiled, subject), cost);
  }

  /** As the guard counts it, so that an address may be given in any of its spellings. */
  private subject(policy: LimitPolicy, subject: string): string {
    if (typeof subject !== 'string' || subject === '') {
      throw configError.badValue('subject', subject, 'a string that is not empty');
    }
    return policy.type === 'ip' ? canonicalSubject(subject, this.ipv6Prefix) : subject;
  }
}

/** A shadow policy that would have denied was not charged. */
function receiptsFor(charges: readonly Charge[], decision: Decision): Receipt[] {
  const all = !decision.shadow;
  return charges
    .filter((charge) => all || !charge.shadow)
    .map((charge) => ({ charge, chargedAt: decision.decidedAt, left: charge.cost }));
}
