import { compilePlan, type Plan } from '../algorithms/plan.js';
import { configError } from '../errors.js';
import { type ParsedRule, parseRule } from '../rules/rule.js';

/** A policy that might be set: what the replay decides every line by. */
export interface Candidate {
  /** As it was written. */
  readonly text: string;
  readonly plan: Plan;
}

const RULE = /^(?:([a-z-]+):)?(\d+)(?:\+(\d+))?\/([^/]+)(?:\/(\d+))?$/;

const ACCEPTED =
  "'[algorithm:]limit/window', like '100/1m', 'fixed-window:100/1m', 'sliding-counter:100/1m/60' or 'token-bucket:20+5/1s', several separated by commas";

/**
 * One candidate from its text: rules separated by commas, each `[algorithm:]limit[+refill]/window[/slices]`.
 * Throws RateLimitConfigError.
 *
 * @example
 * parseCandidate('10/1s,100/1m');              // two rules on one sliding log
 * parseCandidate('sliding-counter:100/1m/60'); // 60 slices
 * parseCandidate('token-bucket:20+5/1s');      // holds 20, 5 come back per second
 */
export function parseCandidate(text: string): Candidate {
  const path = `--rule ${JSON.stringify(text)}`;
  const rules = text.split(',').map((part) => parsePart(part.trim(), path));
  return { text, plan: compilePlan('candidate', rules, path) };
}

function parsePart(text: string, path: string): ParsedRule {
  const [, algorithm, limit, refill, window, slices] = RULE.exec(text) ?? [];
  if (limit === undefined) throw configError.badValue(path, text, ACCEPTED);
  const { written } = parseRule(`${limit}/${window}`, path);
  return parseRule(
    {
      ...written,
      ...(algorithm !== undefined && { algorithm }),
      ...(refill !== undefined && { refill: Number(refill) }),
      ...(slices !== undefined && { slices: Number(slices) }),
    },
    path,
  );
}
