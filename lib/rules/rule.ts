import { checkInteger, configError } from '../errors.js';
import { type Duration, parseDuration } from './duration.js';

/** How a limit is kept; the README compares them. */
export type AlgorithmName = 'sliding-log' | 'fixed-window' | 'sliding-counter' | 'token-bucket';

/** At most `limit` units in any window, exactly; or in any aligned one. */
export interface WindowRule {
  algorithm?: 'sliding-log' | 'fixed-window';
  /** Units in a window; 0 denies all. */
  limit: number;
  window: Duration;
}

/** The same hard limit in a few counts; may refuse up to a slice's units too long. */
export interface SlidingCounterRule {
  algorithm: 'sliding-counter';
  limit: number;
  window: Duration;
  /** Into how many slices the window is cut. More refuse less, and take more bytes. @default 60 */
  slices?: number;
}

/** So many units at once, and so many per window on average. */
export interface TokenBucketRule {
  algorithm: 'token-bucket';
  /** Capacity: units that may be taken at once. */
  limit: number;
  /** Units that come back per window. @default the limit */
  refill?: number;
  window: Duration;
}

/** `'100/1m'`, `'10/s'`: so many units per so long, by a sliding log. */
export type RuleShorthand = `${number}/${string}`;

/** One limit, as a user writes it. */
export type Rule = RuleShorthand | WindowRule | SlidingCounterRule | TokenBucketRule;

/** A rule whose common part is checked; what only its algorithm knows is still as written. */
export interface ParsedRule {
  readonly algorithm: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly written: Readonly<Record<string, unknown>>;
}

const SHORTHAND = /^(\d{1,16})\/(\d*\.?\d*)\s*([a-z]+)$/i;

export function parseRule(rule: unknown, path: string): ParsedRule {
  const written = typeof rule === 'string' ? parseShorthand(rule, path) : rule;
  if (typeof written !== 'object' || written === null || Array.isArray(written)) {
    throw configError.badValue(path, rule, `{ limit, window } or a string like '100/1m'`);
  }
  const { algorithm = 'sliding-log', limit, window } = written as Record<string, unknown>;
  return {
    algorithm: algorithm as string,
    limit: checkInteger(limit, `${path}.limit`, 0),
    windowMs: parseDuration(window, `${path}.window`),
    written: written as Record<string, unknown>,
  };
}

function parseShorthand(text: string, path: string): { limit: number; window: string } {
  const [, limit, amount, unit] = SHORTHAND.exec(text) ?? [];
  if (limit === undefined || unit === undefined) {
    throw configError.badValue(path, text, `a string like '100/1m' or '10/s'`);
  }
  return { limit: Number(limit), window: `${amount || '1'}${unit}` };
}
