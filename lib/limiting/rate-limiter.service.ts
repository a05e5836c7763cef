import type { Observable } from 'rxjs';
import type { Clock } from '../clock.js';
import { chargesOf, type Decision, partsOf } from '../decision.js';
import { checkInteger, checkKeys, configError } from '../errors.js';
import { canonicalSubject } from '../rules/ip-address.js';
import { type Duration, parseDuration } from '../rules/duration.js';
import type { PolicyDefinition } from '../rules/policy.js';
import type { Charge, LimitStore } from '../stores/store.js';
import type { StoreEvent } from '../resilience/store-events.js';
import { type DecisionEvent, DecisionEvents } from './decision-events.js';
import { asUnavailable } from './exceptions.js';
import { chargeOf, type LimitPolicy, type Policies } from './policies.js';

/** A policy of the module by its name, or a definition of your own. */
export type PolicyReference = string | PolicyDefinition;

/** What may be said of one `consume`. */
export interface ConsumeOptions {
  /** Units taken. @default 1 */
  cost?: number;
}

/** What may be said of one `waitFor`. */
export interface WaitOptions extends ConsumeOptions {
  /** The longest wait; when capacity returns later than that, the denial is returned at once. */
  maxWait?: Duration;
  /** Ends the wait with the signal's reason. */
  signal?: AbortSignal;
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
  /** Units of a charge that have been given back already. */
  private readonly given = new WeakMap<Charge, number>();
  private readonly events = new DecisionEvents();
  /**
   * Every decision of this process, by the guard or by a call; costs nothing while nobody listens.
   *
   * @example
   * limiter.decisions$.subscribe(({ outcome }) => outcomes[outcome]++);
   */
  readonly decisions$: Observable<DecisionEvent> = this.events.decisions$;

  /** @hidden Nest makes it. */
  constructor(
    private readonly store: LimitStore,
    private readonly policies: Policies,
    private readonly clock: Clock,
    private readonly ipv6Prefix: number,
    /** What happens to the store: out of use, in use again, single failures, the self-check. */
    readonly store$: Observable<StoreEvent>,
  ) {}

  /**
   * Takes `cost` units, or none if a rule has too few left.
   *
   * @example
   * const decision = await limiter.consume('export', tenant, { cost: rows });
   * if (!decision.allowed) return `try again in ${decision.retryAfterMs} ms`;
   */
  consume(policy: PolicyReference, subject: string, options?: ConsumeOptions): Promise<Decision> {
    try {
      return this.decide([this.charge(policy, subject, costOf(options))]);
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /**
   * What `consume` of one unit would say now. Changes nothing.
   *
   * @example
   * const { policies } = await limiter.peek('export', tenant);
   * const left = policies[0]?.rules[0]?.remaining;
   */
  async peek(policy: PolicyReference, subject: string): Promise<Decision> {
    return this.store.peek([this.charge(policy, subject)]).catch(asUnavailable);
  }

  /**
   * Gives back what a decision took, or `cost` units of it; never more than it took, however often
   * it is called. Units that have left their window since are gone: a refund neither raises the
   * allowance above the limit nor reaches into another window.
   *
   * @example
   * const decision = await limiter.consume('mail', tenant, { cost: 10 });
   * await limiter.refund(decision, 10 - sent);
   */
  async refund(decision: Decision, cost?: number): Promise<void> {
    const parts = partsOf(decision);
    if (parts === undefined) {
      throw configError.badValue('decision', decision, 'a decision that consume has returned');
    }
    if (cost !== undefined) checkInteger(cost, 'cost', 0);
    await Promise.all(
      parts.flatMap((part) =>
        chargesOf<Charge>(part).map((charge) => this.giveBack(part, charge, cost)),
      ),
    );
  }

  /**
   * Forgets what the subject has used, and a block with it.
   *
   * @example
   * await limiter.reset('login', user.id); // the password has been changed
   */
  async reset(policy: PolicyReference, subject: string): Promise<void> {
    await this.store.reset(this.charge(policy, subject)).catch(asUnavailable);
  }

  /**
   * Denies the subject for `duration`, whatever it has left. A block replaces an earlier one.
   *
   * @example
   * await limiter.block('login', user.id, '1h');
   */
  async block(policy: PolicyReference, subject: string, duration: Duration): Promise<void> {
    const durationMs = parseDuration(duration, 'duration');
    await this.store.block(this.charge(policy, subject), durationMs).catch(asUnavailable);
  }

  /**
   * Lifts a block; what the subject has used stays used.
   *
   * @example
   * await limiter.unblock('login', user.id);
   */
  async unblock(policy: PolicyReference, subject: string): Promise<void> {
    await this.store.block(this.charge(policy, subject), 0).catch(asUnavailable);
  }

  /**
   * Consumes as soon as it can. Returns a denial when that is later than `maxWait`, or never
   * (a cost above the limit); rejects with the signal's reason when it is aborted.
   *
   * @example
   * const { allowed } = await limiter.waitFor('partner-api', 'all', { maxWait: '10s' });
   * if (allowed) await callPartner();
   */
  async waitFor(
    policy: PolicyReference,
    subject: string,
    options: WaitOptions = {},
  ): Promise<Decision> {
    checkKeys(options, ['cost', 'maxWait', 'signal'], 'waitFor options');
    const { cost, maxWait, signal } = options;
    const maxWaitMs = maxWait === undefined ? Infinity : parseDuration(maxWait, 'maxWait');
    const deadline = this.clock.now() + maxWaitMs;
    for (;;) {
      signal?.throwIfAborted();
      const decision = await this.decide([this.charge(policy, subject, cost)]);
      const wait = decision.retryAfterMs;
      if (decision.allowed || wait === null || this.clock.now() + wait > deadline) return decision;
      await this.clock.sleep(wait, signal);
    }
  }

  /** @internal One decision over several policies, for the guard. */
  decide(charges: readonly Charge[]): Promise<Decision> {
    const asked = this.store.decide(charges);
    const deciding = this.store.infallible === true ? asked : asked.catch(asUnavailable);
    return this.events.observed ? this.events.tell(deciding) : deciding;
  }

  /** @internal What one of the decision's charges took, as far as it took it. */
  async refundCharge(decision: Decision, charge: Charge): Promise<void> {
    const part = partsOf(decision)?.find((one) => chargesOf(one).includes(charge));
    if (part !== undefined) await this.giveBack(part, charge);
  }

  private async giveBack(decision: Decision, charge: Charge, cost = charge.cost): Promise<void> {
    const given = this.given.get(charge) ?? 0;
    const giving = Math.min(charge.cost - given, cost);
    if (giving === 0) return;
    this.given.set(charge, given + giving);
    await this.store.refund(charge, giving, decision.decidedAt).catch(asUnavailable);
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

function costOf(options: ConsumeOptions | undefined): number | undefined {
  return options === undefined
    ? undefined
    : (checkKeys(options, ['cost'], 'consume options').cost as number | undefined);
}
