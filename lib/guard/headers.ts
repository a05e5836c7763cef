import { serializeItem, serializeList } from 'structured-headers';
import type { Decision, PolicyDecision, RuleState } from '../decision.js';
import { windowText } from '../rules/duration.js';
import type { HeaderMode } from '../sliding-window.options.js';

/** A structured field's integers have at most 15 digits (RFC 9651 section 3.3.1). */
const MOST = 999_999_999_999_999;

type Field = readonly [name: string, value: string];

/**
 * The header fields that tell a decision.
 *
 * `'standard'` follows the syntax of draft-ietf-httpapi-ratelimit-headers-11: `RateLimit-Policy` and
 * `RateLimit`, lists over all rules of all policies. `'legacy'` is the `X-RateLimit-*` trio of the
 * tightest rule, its reset in seconds left. Milliseconds become seconds here and nowhere else,
 * rounded up.
 */
export function headerFields(decision: Decision, mode: HeaderMode): Field[] {
  const fields: Field[] = [];
  const retryAfter = retryAfterSeconds(decision);
  if (mode === 'standard' || mode === 'both') fields.push(...standardFields(decision, retryAfter));
  if (mode === 'legacy' || mode === 'both') fields.push(...legacyFields(decision));
  if (retryAfter !== undefined) fields.push(['Retry-After', String(retryAfter)]);
  return fields;
}

/** Whole seconds until the same request would pass; undefined: it has passed, or never will. */
export function retryAfterSeconds({ allowed, retryAfterMs }: Decision): number | undefined {
  return allowed || retryAfterMs === null ? undefined : Math.max(1, seconds(retryAfterMs));
}

/** A rule's name in the fields: its policy's, and where that has several rules, its window. */
export function ruleName(policy: PolicyDecision, index: number): string {
  if (policy.rules.length === 1) return policy.name;
  const { windowMs } = policy.rules[index]!;
  const twin = policy.rules.findIndex((rule) => rule.windowMs === windowMs);
  return `${policy.name}-${windowText(windowMs)}${twin === index ? '' : `-${index + 1}`}`;
}

/** What the fields say of a policy whatever is left of it. */
interface Constant {
  readonly rules: readonly RuleState[];
  /** Its members of `RateLimit-Policy`. */
  readonly quotas: string;
  /** Its rules' names, as strings of structured fields. */
  readonly names: readonly string[];
}

/** By policy name; rules that depend on the request, or on the application, replace one another. */
const constants = new Map<string, Constant>();

function constantOf(policy: PolicyDecision): Constant {
  const known = constants.get(policy.name);
  if (known !== undefined && sameRules(known.rules, policy.rules)) return known;
  const names = policy.rules.map((_, i) => ruleName(policy, i));
  const constant: Constant = {
    rules: policy.rules,
    quotas: serializeList(
      policy.rules.map(({ limit, windowMs }, i) => [
        names[i]!,
        new Map([
          ['q', integer(limit)],
          ['w', Math.max(1, seconds(windowMs))],
        ]),
      ]),
    ),
    names: names.map((name) => serializeItem([name, new Map()])),
  };
  constants.set(policy.name, constant);
  return constant;
}

function sameRules(a: readonly RuleState[], b: readonly RuleState[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) {
    if (a[i]!.limit !== b[i]!.limit || a[i]!.windowMs !== b[i]!.windowMs) return false;
  }
  return true;
}

function standardFields({ policies }: Decision, retryAfter: number = MOST): Field[] {
  let quotas = '';
  let states = '';
  for (const policy of policies) {
    const constant = constantOf(policy);
    quotas += quotas === '' ? constant.quotas : `, ${constant.quotas}`;
    for (let i = 0; i < policy.rules.length; i++) {
      const rule = policy.rules[i]!;
      // An integer parameter is written as its digits (RFC 9651 section 4.1.4).
      states += `${states === '' ? '' : ', '}${constant.names[i]};r=${integer(rule.remaining)}`;
      const window = effectiveWindow(rule);
      // Retry-After is never earlier than `t`, and it is exact: so `t` gives way.
      if (window !== undefined) states += `;t=${Math.min(window, retryAfter)}`;
    }
  }
  if (quotas === '') return [];
  return [
    ['RateLimit-Policy', quotas],
    ['RateLimit', states],
  ];
}

/**
 * Seconds within which no more than the remaining units can be used: until the next could pass, or,
 * so that a client does not take a long window's units at once, that part of the window which they
 * are of the limit.
 */
function effectiveWindow({ limit, windowMs, remaining, resetMs, retryAfterMs }: RuleState) {
  if (retryAfterMs === Infinity || limit === 0) return undefined;
  // The last unit has just been taken: all are back by then at the latest.
  if (remaining === 0 && retryAfterMs === 0) return seconds(resetMs);
  return seconds(Math.max(retryAfterMs, (remaining / limit) * windowMs));
}

function legacyFields({ policies }: Decision): Field[] {
  const rules = policies.flatMap((policy) => policy.rules);
  const tightest = rules.reduce<RuleState | undefined>(
    (least, rule) => (least === undefined || rule.remaining < least.remaining ? rule : least),
    undefined,
  );
  if (tightest === undefined) return [];
  return [
    ['X-RateLimit-Limit', String(integer(tightest.limit))],
    ['X-RateLimit-Remaining', String(integer(tightest.remaining))],
    ['X-RateLimit-Reset', String(seconds(tightest.resetMs))],
  ];
}

function integer(value: number): number {
  return Math.min(value, MOST);
}

function seconds(ms: number): number {
  return integer(Math.ceil(ms / 1000));
}
