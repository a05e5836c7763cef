import type { ExecutionContext } from '@nestjs/common';
import { compilePlan, type Plan } from '../algorithms/plan.js';
import type { Decision } from '../decision.js';
import { checkInteger, checkKeys, checkOneOf, configError } from '../errors.js';
import type { PolicyDefaults } from '../limiting/policies.js';
import { parseDuration } from '../rules/duration.js';
import { parseLease } from '../rules/lease.js';
import { LIMIT_TYPES, LimitType, type SubjectType } from '../rules/limit-type.js';
import {
  checkPolicyName,
  parseRules,
  STORE_ERROR_POLICIES,
  type StoreErrorPolicy,
} from '../rules/policy.js';
import { type CountWhen, type PolicyOptions, RATE_LIMIT_KEYS } from './policy-options.js';

type Resolver<T> = (context: ExecutionContext) => T | Promise<T>;

/** When in a request's life a policy is charged. */
export type Phase = 'before' | 'after';

/** A policy of a handler, complete: what the guard works with. */
export interface HandlerPolicy {
  readonly name: string;
  /** The name was given, so sharing it is meant. */
  readonly named: boolean;
  readonly type: SubjectType;
  /** Name and type: what is charged once per request. */
  readonly key: string;
  /** For type 'custom' alone. */
  readonly subject: Resolver<unknown> | undefined;
  /** Compiled at boot; a function where the rules depend on the request. */
  readonly plan: Plan | Resolver<Plan>;
  /** As written, to compare policies of one name whose rules are functions. */
  readonly rules: unknown;
  readonly cost: number | Resolver<unknown>;
  readonly skipIf: Resolver<unknown> | undefined;
  readonly countWhen: CountWhen;
  readonly blockMs: number;
  readonly phase: Phase;
  readonly onStoreError: StoreErrorPolicy;
  readonly shadow: boolean;
  readonly message: string | ((decision: Decision) => string) | undefined;
  /** Where it was declared, for messages. */
  readonly path: string;
}

/** Plans of rules chosen per request; the rules are few, the requests many. */
const MOST_DYNAMIC_PLANS = 1000;

/** Throws RateLimitConfigError that names `path`. */
export function resolveHandlerPolicy(
  written: PolicyOptions,
  defaultName: string,
  defaults: PolicyDefaults,
  path: string,
): HandlerPolicy {
  checkKeys(written, ['type', 'rules', ...RATE_LIMIT_KEYS], path);
  const name = checkPolicyName(written.name ?? defaultName, `${path} name`);
  const { subject, type } = resolveType(written.type, path);
  return {
    name,
    named: written.name !== undefined,
    type,
    key: `${name}|${type}`,
    subject,
    plan: resolvePlan(name, written, path),
    rules: written.rules,
    cost:
      typeof written.cost === 'function'
        ? written.cost
        : checkInteger(written.cost ?? 1, `${path} cost`, 0),
    skipIf: optionalFunction(written.skipIf, `${path} skipIf`),
    countWhen:
      typeof written.countWhen === 'function'
        ? written.countWhen
        : checkOneOf(
            written.countWhen ?? 'always',
            ['always', 'success', 'failure'],
            `${path} countWhen`,
          ),
    blockMs:
      written.blockFor === undefined ? 0 : parseDuration(written.blockFor, `${path} blockFor`),
    phase: checkOneOf(
      written.when ?? (type === LimitType.IP || type === LimitType.GLOBAL ? 'before' : 'after'),
      ['before', 'after'],
      `${path} when`,
    ),
    onStoreError: checkOneOf(
      written.onStoreError ?? defaults.onStoreError,
      STORE_ERROR_POLICIES,
      `${path} onStoreError`,
    ),
    shadow: checkOneOf(written.shadow ?? defaults.shadow, [true, false], `${path} shadow`),
    message: resolveMessage(written.message, `${path} message`),
    path,
  };
}

function resolveType(written: unknown, path: string): Pick<HandlerPolicy, 'type' | 'subject'> {
  if (typeof written === 'function') {
    return { type: 'custom', subject: written as Resolver<unknown> };
  }
  if (!LIMIT_TYPES.includes(written as LimitType)) {
    throw configError.badValue(
      `${path} type`,
      written,
      `${LIMIT_TYPES.map((type) => `'${type}'`).join(', ')} or a function of the context`,
    );
  }
  return { type: written as LimitType, subject: undefined };
}

function resolvePlan(name: string, written: PolicyOptions, path: string): Plan | Resolver<Plan> {
  const { rules } = written;
  const lease =
    written.lease === undefined ? undefined : parseLease(written.lease, `${path} lease`);
  const compile = (value: unknown) =>
    compilePlan(name, parseRules(value, `${path} rules`), `${path} rules`, lease);
  if (typeof rules !== 'function') return compile(rules);
  if (lease !== undefined) throw configError.notLeasable(lease.path, 'a function of the request');
  const plans = new Map<string, Plan>();
  const planOf = (value: unknown) => {
    const text = JSON.stringify(value) ?? '';
    let plan = plans.get(text);
    if (plan === undefined) {
      plan = compile(value);
      if (plans.size >= MOST_DYNAMIC_PLANS) plans.clear();
      plans.set(text, plan);
    }
    return plan;
  };
  return (context) => {
    const value = (rules as Resolver<unknown>)(context);
    return value instanceof Promise ? value.then(planOf) : planOf(value);
  };
}

function optionalFunction<T>(value: T | undefined, path: string): T | undefined {
  if (value !== undefined && typeof value !== 'function') {
    throw configError.badValue(path, value, 'a function of the context');
  }
  return value;
}

function resolveMessage(value: unknown, path: string): HandlerPolicy['message'] {
  if (value === undefined || typeof value === 'string' || typeof value === 'function') {
    return value as HandlerPolicy['message'];
  }
  throw configError.badValue(path, value, 'a string or a function of the decision');
}
