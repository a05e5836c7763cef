import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../decision.js';
import type { Duration } from '../rules/duration.js';
import type { Lease } from '../rules/lease.js';
import type { LimitType } from '../rules/limit-type.js';
import type { StoreErrorPolicy } from '../rules/policy.js';
import type { Rule } from '../rules/rule.js';

/** Whom a policy counts: a limit type, or a function that names the subject. */
export type LimitTypeInput = LimitType | ((context: ExecutionContext) => string | Promise<string>);

/** Rules, or a function that chooses them for the request (by tenant, by plan). */
export type RulesInput =
  | Rule
  | readonly Rule[]
  | ((context: ExecutionContext) => Rule | readonly Rule[] | Promise<Rule | readonly Rule[]>);

/** How a request ended, for `countWhen`. */
export interface Outcome {
  /** The status sent; outside HTTP that of the `HttpException` thrown, if it was one. */
  readonly status: number | undefined;
  /**
   * The response was sent to its end; false when the client went away before. Outside HTTP: the
   * handler returned; false when it threw or was given up.
   */
  readonly completed: boolean;
  /** What the handler threw; outside HTTP alone. */
  readonly error?: unknown;
}

/** Which requests count, by how they ended; see `RateLimitOptions.countWhen`. */
export type CountWhen = 'always' | 'success' | 'failure' | ((outcome: Outcome) => boolean);

/** What may be said of a policy beside its type and rules. */
export interface RateLimitOptions {
  /** Policies of one name share one budget. @default ClassName-methodName */
  name?: string;
  /** Units a request takes. @default 1 */
  cost?: number | ((context: ExecutionContext) => number | Promise<number>);
  /** The policy does not apply to requests for which this is true. */
  skipIf?: (context: ExecutionContext) => boolean | Promise<boolean>;
  /** Which requests count, decided when the response is known; the others are given back. @default 'always' */
  countWhen?: CountWhen;
  /** Keeps a subject out for this long after a denial. @default no block */
  blockFor?: Duration;
  /** Blocks of units that a process takes ahead, on Redis; not with rules that depend on the request. @default one by one */
  lease?: Lease;
  /** Before route guards or after them. @default 'before' for IP and GLOBAL, else 'after' */
  when?: 'before' | 'after';
  /** @default the module's */
  onStoreError?: StoreErrorPolicy;
  /** Decides and reports, never denies. @default the module's */
  shadow?: boolean;
  /** The message of a denial. @default 'Too Many Requests' */
  message?: string | ((decision: Decision) => string);
}

/** A whole policy, as the module's `default`. */
export interface PolicyOptions extends RateLimitOptions {
  type: LimitTypeInput;
  rules: RulesInput;
}

/** A policy in the module's `policies`; its name is its key there. */
export interface NamedPolicyOptions extends Omit<PolicyOptions, 'name' | 'type'> {
  /** Needed where a decorator refers to the policy. @default 'custom', for the service alone */
  type?: LimitTypeInput;
}

export const RATE_LIMIT_KEYS: readonly (keyof RateLimitOptions)[] = [
  'name',
  'cost',
  'skipIf',
  'countWhen',
  'blockFor',
  'lease',
  'when',
  'onStoreError',
  'shadow',
  'message',
];
