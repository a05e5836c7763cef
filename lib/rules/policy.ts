import { checkKeys, checkOneOf, configError } from '../errors.js';
import { type Duration, parseDuration } from './duration.js';
import { type Lease, type ParsedLease, parseLease } from './lease.js';
import { LIMIT_TYPES, type SubjectType } from './limit-type.js';
import { type ParsedRule, parseRule, type Rule } from './rule.js';

/** What happens to a decision that no store could take in time. */
export type StoreErrorPolicy = 'local' | 'allow' | 'deny';

export const STORE_ERROR_POLICIES: readonly StoreErrorPolicy[] = ['local', 'allow', 'deny'];

/** A policy as the service takes it: named rules, and what does not depend on a request. */
export interface PolicyDefinition {
  /** 1 to 64 of `A-Z a-z 0-9 _ . -`; it appears in keys and in header fields. */
  name: string;
  /** Whom the subject names; it is part of the key. @default 'custom' */
  type?: SubjectType;
  rules: Rule | readonly Rule[];
  /** Keeps a subject out for this long after a denial. @default no block */
  blockFor?: Duration;
  /** Blocks of units that a process takes ahead, on Redis. @default one by one */
  lease?: Lease;
  /** @default the module's */
  onStoreError?: StoreErrorPolicy;
  /** Decides and reports, never denies. @default the module's */
  shadow?: boolean;
}

export const POLICY_KEYS: readonly (keyof PolicyDefinition)[] = [
  'name',
  'type',
  'rules',
  'blockFor',
  'lease',
  'onStoreError',
  'shadow',
];

/** A policy whose values are checked; what its rules mean is the algorithms' business. */
export interface ParsedPolicy {
  readonly name: string;
  readonly type: SubjectType;
  readonly rules: readonly ParsedRule[];
  readonly blockMs: number;
  readonly lease: ParsedLease | undefined;
  readonly onStoreError: StoreErrorPolicy | undefined;
  readonly shadow: boolean | undefined;
}

const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

export function checkPolicyName(name: unknown, path: string): string {
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw configError.badValue(path, name, '1 to 64 of A-Z a-z 0-9 _ . -');
  }
  return name;
}

export function parseRules(rules: unknown, path: string): readonly ParsedRule[] {
  const list: readonly unknown[] = Array.isArray(rules) ? rules : [rules];
  if (list.length === 0 || list.length > 16) {
    throw configError.badValue(path, rules, 'one rule, or an array of 1 to 16');
  }
  // A hole in a sparse array would be skipped by map, and the rule with it.
  return Array.from(list, (rule, i) =>
    parseRule(rule, Array.isArray(rules) ? `${path}[${i}]` : path),
  );
}

export function parsePolicy(policy: unknown, path: string): ParsedPolicy {
  const { name, type, rules, blockFor, lease, onStoreError, shadow } = checkKeys(
    policy,
    POLICY_KEYS,
    path,
  );
  return {
    name: checkPolicyName(name, `${path}.name`),
    type: checkOneOf(type ?? 'custom', [...LIMIT_TYPES, 'custom'], `${path}.type`),
    rules: parseRules(rules, `${path}.rules`),
    blockMs: blockFor === undefined ? 0 : parseDuration(blockFor, `${path}.blockFor`),
    lease: lease === undefined ? undefined : parseLease(lease, `${path}.lease`),
    onStoreError:
      onStoreError === undefined
        ? undefined
        : checkOneOf(onStoreError, STORE_ERROR_POLICIES, `${path}.onStoreError`),
    shadow: shadow === undefined ? undefined : checkOneOf(shadow, [true, false], `${path}.shadow`),
  };
}
