import { checkInteger, checkKeys } from '../errors.js';
import { type Duration, parseDuration } from './duration.js';

/**
 * Units taken ahead by a process: blocks of `size`, each to be spent within `ttl`. For budgets that
 * many processes share and that are asked for too often.
 *
 * @example
 * { name: 'all-orders', type: LimitType.GLOBAL, rules: '10000/1m', lease: { size: 100, ttl: '1s' } }
 */
export interface Lease {
  /** Units in a block; at most the lowest limit. */
  size: number;
  /** How long a block may be spent; at most the shortest window. */
  ttl: Duration;
}

/** A lease whose numbers are checked; whether the rules allow it is the plan's business. */
export interface ParsedLease {
  readonly size: number;
  readonly ttlMs: number;
  /** Where it was written, for messages. */
  readonly path: string;
}

export function parseLease(lease: unknown, path: string): ParsedLease {
  const { size, ttl } = checkKeys(lease, ['size', 'ttl'], path);
  return {
    size: checkInteger(size, `${path}.size`, 1),
    ttlMs: parseDuration(ttl, `${path}.ttl`),
    path,
  };
}
