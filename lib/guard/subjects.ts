import type { ExecutionContext } from '@nestjs/common';
import { configError } from '../errors.js';
import { canonicalAddress } from '../rules/ip-address.js';
import { LimitType, type SubjectType } from '../rules/limit-type.js';
import type { HandlerPolicy } from './handler-policy.js';

/** Whom a charge counts. */
export interface Subject {
  readonly type: SubjectType;
  readonly subject: string;
}

export interface SubjectOptions {
  readonly getUserId: (context: ExecutionContext) => unknown;
  readonly getIp: (context: ExecutionContext) => unknown;
  readonly ipv6Prefix: number;
}

const EVERYBODY: Subject = { type: LimitType.GLOBAL, subject: 'global' };

/** Limit type and context to subject. Where nobody is named, the address is counted: never nobody. */
export function subjectOf(
  policy: HandlerPolicy,
  context: ExecutionContext,
  options: SubjectOptions,
): Subject | Promise<Subject> {
  if (policy.type === LimitType.GLOBAL) return EVERYBODY;
  if (policy.type === LimitType.IP) return addressOf(context, options);
  const name = policy.subject ?? options.getUserId;
  const named = name(context);
  return named instanceof Promise
    ? named.then((value) => subjectFrom(policy, value, context, options))
    : subjectFrom(policy, named, context, options);
}

function subjectFrom(
  policy: HandlerPolicy,
  value: unknown,
  context: ExecutionContext,
  options: SubjectOptions,
): Subject {
  if (value === undefined || value === null || value === '') return addressOf(context, options);
  if (typeof value === 'string') return { type: policy.type, subject: value };
  if (typeof value === 'number' || typeof value === 'bigint') {
    return { type: policy.type, subject: String(value) };
  }
  throw configError.badValue(`${policy.path} subject`, value, 'a string');
}

function addressOf(context: ExecutionContext, options: SubjectOptions): Subject {
  return {
    type: LimitType.IP,
    subject: canonicalAddress(options.getIp(context), options.ipv6Prefix),
  };
}
