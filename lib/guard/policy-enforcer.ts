import { type ExecutionContext, HttpException, Logger } from '@nestjs/common';
import type { Plan } from '../algorithms/plan.js';
import type { Decision } from '../decision.js';
import { checkInteger } from '../errors.js';
import type { RateLimiterService } from '../limiting/rate-limiter.service.js';
import type { ResolvedOptions } from '../sliding-window.options.js';
import type { Charge } from '../stores/store.js';
import { adapterOf } from './contexts/adapters.js';
import type { ContextAdapter } from './contexts/context.js';
import type { HandlerPolicy, Phase } from './handler-policy.js';
import { headerFields } from './headers.js';
import { onOutcome } from './outcomes.js';
import type { PolicyExplorer } from './policy-explorer.js';
import type { Outcome } from './policy-options.js';
import { Refusals } from './refusals.js';
import {
  addDecision,
  markCall,
  rememberAdapters,
  type RequestState,
  stateOf,
  takeDue,
} from './request-state.js';
import { decisionForResponse } from './response-decision.js';
import { type Subject, subjectOf } from './subjects.js';

/** What both guards do: find the policies, charge them as one decision, tell the client. */
export class PolicyEnforcer {
  private readonly logger = new Logger('RateLimit');
  private readonly reported = new Set<string>();
  private readonly refusals: Refusals;

  constructor(
    private readonly explorer: PolicyExplorer,
    private readonly limiter: RateLimiterService,
    private readonly options: ResolvedOptions,
  ) {
    this.refusals = new Refusals(options);
    rememberAdapters(options.contexts);
  }

  enforce(context: ExecutionContext, phase: Phase): boolean | Promise<boolean> {
    const policies = this.explorer.policiesOf(context.getClass(), context.getHandler(), phase);
    if (policies.length === 0) return true;
    const adapter = adapterOf(this.options.contexts, context);
    const state = stateOf(adapter.requestOf(context));
    const due = takeDue(state, policies);
    if (due.length === 0) return true;
    return this.apply(due, context, adapter, state);
  }

  private async apply(
    policies: readonly HandlerPolicy[],
    context: ExecutionContext,
    adapter: ContextAdapter,
    state: RequestState,
  ): Promise<boolean> {
    const applied: HandlerPolicy[] = [];
    const charges: Charge[] = [];
    for (const policy of policies) {
      const found = this.chargeOf(policy, context, adapter);
      const charge = found instanceof Promise ? await found : found;
      if (charge === undefined) continue;
      applied.push(policy);
      charges.push(charge);
    }
    if (charges.length === 0) return true;
    const earlier = state.decision;
    const decision = await this.decide(charges, context, adapter);
    const merged = addDecision(state, decision);
    if (adapter.markOf !== undefined) markCall(state, context, adapter);
    this.tell(merged, context, adapter);
    if (decision.allowed) {
      this.awaitOutcome(applied, charges, decision, context, adapter);
      return true;
    }
    if (earlier !== undefined) await this.limiter.refund(earlier);
    const message = messageOf(applied, decision, merged);
    throw await this.refusals.denied(merged, message, context, adapter);
  }

  private tell(decision: Decision, context: ExecutionContext, adapter: ContextAdapter): void {
    if (adapter.setHeader === undefined) return;
    let told = decision;
    if (adapter.responseOf !== undefined) {
      const response = adapter.responseOf(context);
      if (response === undefined) return;
      told = decisionForResponse(response, decision);
    }
    for (const [name, value] of headerFields(told, this.options.headers)) {
      adapter.setHeader(context, name, value);
    }
  }

  private async decide(
    charges: readonly Charge[],
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): Promise<Decision> {
    try {
      return await this.limiter.decide(charges);
    } catch (error) {
      throw await this.refusals.unavailable(error, context, adapter);
    }
  }

  /**
   * Undefined: the policy does not apply to this request. A promise only where something has to be
   * waited for.
   */
  private chargeOf(
    policy: HandlerPolicy,
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): Charge | undefined | Promise<Charge | undefined> {
    const { skipIf, plan, cost } = policy;
    if (skipIf !== undefined || typeof plan === 'function' || typeof cost === 'function') {
      return this.askForCharge(policy, context).catch((error: unknown) =>
        this.unjudged(policy, error, context, adapter),
      );
    }
    try {
      const subject = subjectOf(policy, context, this.options);
      if (!(subject instanceof Promise)) return chargeFor(policy, plan, cost, subject);
      return subject
        .then((found) => chargeFor(policy, plan, cost, found))
        .catch((error: unknown) => this.unjudged(policy, error, context, adapter));
    } catch (error) {
      return this.unjudged(policy, error, context, adapter);
    }
  }

  /** The user's functions one after the other. */
  private async askForCharge(
    policy: HandlerPolicy,
    context: ExecutionContext,
  ): Promise<Charge | undefined> {
    if (policy.skipIf !== undefined && (await policy.skipIf(context)) === true) return undefined;
    const plan: Plan = typeof policy.plan === 'function' ? await policy.plan(context) : policy.plan;
    const cost =
      typeof policy.cost === 'function'
        ? checkInteger(await policy.cost(context), `${policy.path} cost`, 0)
        : policy.cost;
    return chargeFor(policy, plan, cost, await subjectOf(policy, context, this.options));
  }

  /** A request that cannot be judged is not let through for that, unless it is said so. */
  private async unjudged(
    policy: HandlerPolicy,
    error: unknown,
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): Promise<undefined> {
    if (isRefusal(error)) throw error;
    this.report(policy, error);
    if (policy.onStoreError === 'allow' || policy.shadow) return undefined;
    throw await this.refusals.unavailable(error, context, adapter);
  }

  private report(policy: HandlerPolicy, error: unknown): void {
    const text = `${policy.path}: ${error instanceof Error ? error.message : String(error)}`;
    if (this.reported.has(text) || this.reported.size > 1000) return;
    this.reported.add(text);
    this.logger.error(`${text}; requests it cannot judge are answered by onStoreError`);
  }

  /** What does not count is given back once the response is known. */
  private awaitOutcome(
    policies: readonly HandlerPolicy[],
    charges: readonly Charge[],
    decision: Decision,
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): void {
    const open = policies.flatMap((policy, i) =>
      policy.countWhen === 'always' ? [] : [{ policy, charge: charges[i]! }],
    );
    if (open.length === 0) return;
    onOutcome(context, adapter, (outcome) => {
      for (const { policy, charge } of open) {
        if (this.counts(policy, outcome)) continue;
        this.limiter
          .refundCharge(decision, charge)
          .catch((error: unknown) => this.report(policy, error));
      }
    });
  }

  private counts({ countWhen, path }: HandlerPolicy, outcome: Outcome): boolean {
    const failed = !outcome.completed || (outcome.status ?? 0) >= 400;
    if (countWhen === 'failure') return failed;
    if (countWhen === 'success') return !failed;
    if (countWhen === 'always') return true;
    try {
      return countWhen(outcome);
    } catch (error) {
      this.logger.error(`${path} countWhen: ${String(error)}; the request counts`);
      return true;
    }
  }
}

function chargeFor(policy: HandlerPolicy, plan: Plan, cost: number, whom: Subject): Charge {
  const { blockMs, shadow, onStoreError } = policy;
  const { type, subject } = whom;
  return { plan, type, subject, cost, blockMs, shadow, onStoreError };
}

/** What a function of the application throws to refuse a request itself: Nest's exceptions. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof HttpException ||
    // WsException and RpcException, of packages that need not be installed.
    (error instanceof Error && typeof (error as { getError?: unknown }).getError === 'function')
  );
}

function messageOf(
  policies: readonly HandlerPolicy[],
  decision: Decision,
  merged: Decision,
): string | undefined {
  const violated = policies.find(({ name }) => decision.violated.includes(name));
  return typeof violated?.message === 'function' ? violated.message(merged) : violated?.message;
}
