import type { Decision } from '../decision.js';
import { retryAfterSeconds, ruleName } from './headers.js';

const TYPES = 'https://iana.org/assignments/http-problem-types';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** RFC 9457, with the problem type of draft-ietf-httpapi-ratelimit-headers-11. */
export function quotaExceeded(decision: Decision, message?: string): Record<string, unknown> {
  const retryAfter = retryAfterSeconds(decision);
  return {
    type: `${TYPES}#quota-exceeded`,
    title: 'Too Many Requests',
    status: 429,
    detail:
      message ??
      (retryAfter === undefined
        ? 'Rate limit exceeded'
        : `Rate limit exceeded, retry in ${retryAfter} s`),
    'violated-policies': violatedNames(decision),
  };
}

export function temporaryReducedCapacity(): Record<string, unknown> {
  return {
    type: `${TYPES}#temporary-reduced-capacity`,
    title: 'Service Unavailable',
    status: 503,
    detail: 'The rate limiter is not available',
  };
}

/** As the header fields name them, so that a client finds them there. */
function violatedNames({ policies, violated }: Decision): string[] {
  return policies
    .filter((policy) => violated.includes(policy.name))
    .flatMap((policy) =>
      policy.rules.flatMap((rule, i) => (rule.retryAfterMs > 0 ? [ruleName(policy, i)] : [])),
    );
}
