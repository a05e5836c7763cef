import { createHash } from 'node:crypto';
import { LONGEST_LOG } from '../algorithms/sliding-log.js';
import { checkInteger } from '../errors.js';
import { LONGEST_MS } from '../rules/duration.js';
import type { PolicyDefinition } from '../rules/policy.js';

/** The longest name that is written out; policy names have at most 64 characters. */
const LONGEST_NAME = 50;

/**
 * What a throttler's numbers mean as a policy. Throttler's resolvers may compute fractions: of a
 * limit only the whole part can be used, and a time is rounded up, which is the stricter way.
 * Throws RateLimitConfigError that names the throttler and its option.
 */
export function throttlerPolicy(
  name: string,
  limit: number,
  ttl: number,
  blockDuration: number,
): PolicyDefinition {
  const path = `throttler ${JSON.stringify(name)}`;
  const units = checkInteger(rounded(Math.floor, limit), `${path} limit`, 0);
  const window = checkInteger(rounded(Math.ceil, ttl), `${path} ttl`, 1, LONGEST_MS);
  const policy: PolicyDefinition = {
    name: `throttler-${nameText(name)}`,
    // A log that long would be refused; a ring of slices keeps the limit as hard.
    rules: {
      algorithm: units > LONGEST_LOG ? 'sliding-counter' : 'sliding-log',
      limit: units,
      window,
    },
  };
  if (blockDuration <= 0) return policy;
  const block = rounded(Math.ceil, blockDuration);
  return { ...policy, blockFor: checkInteger(block, `${path} blockDuration`, 1, LONGEST_MS) };
}

/** Anything but a number is left as it is, for the check to refuse. */
function rounded(round: (value: number) => number, value: number): number {
  return typeof value === 'number' ? round(value) : value;
}

/** A throttler's name in a policy's characters: injective, and bounded. */
function nameText(name: string): string {
  const text = name.replace(/[^A-Za-z0-9_-]/g, (char) => `.${char.charCodeAt(0).toString(16)}.`);
  // No name that is written out begins with two dots.
  return text.length <= LONGEST_NAME
    ? text
    : `..${createHash('sha256').update(name, 'utf16le').digest('base64url')}`;
}
