import type { Rule } from '../../lib/index.js';
import { parseDuration } from '../../lib/rules/duration.js';

/**
 * What each algorithm promises, in the most naive form there is: nothing is forgotten, nothing is
 * packed, and waits are found by trying milliseconds. Slow, and easy to believe.
 */
export interface RuleModel {
  /** Units that could be taken at `now`. */
  remaining(now: number): number;
  admits(cost: number, now: number): boolean;
  /** Milliseconds until `cost` is admitted, if nothing more is taken; Infinity: never. */
  retryAfterMs(cost: number, now: number): number;
  /** Milliseconds until nothing is held any more. */
  resetMs(now: number): number;
  take(cost: number, now: number): void;
}

export interface ModelDecision {
  readonly allowed: boolean;
  readonly retryAfterMs: number | null;
  readonly rules: readonly { remaining: number; resetMs: number; retryAfterMs: number }[];
}

/** A rule written out in full: the models take milliseconds. */
export type PlainRule = Exclude<Rule, string>;

/** All rules first, then all or none. */
export class PolicyModel {
  private readonly models: readonly RuleModel[];

  constructor(rules: readonly PlainRule[]) {
    this.models = rules.map(modelOf);
  }

  decide(cost: number, now: number, charge = true): ModelDecision {
    const allowed = this.models.every((model) => model.admits(cost, now));
    const waits = this.models.map((model) => model.retryAfterMs(cost, now));
    if (allowed && charge) for (const model of this.models) model.take(cost, now);
    const longest = Math.max(...waits);
    return {
      allowed,
      retryAfterMs: allowed || longest === Infinity ? null : longest,
      rules: this.models.map((model, i) => ({
        remaining: model.remaining(now),
        resetMs: model.resetMs(now),
        retryAfterMs: waits[i]!,
      })),
    };
  }
}

function modelOf(rule: PlainRule): RuleModel {
  const windowMs = parseDuration(rule.window, 'window');
  switch (rule.algorithm) {
    case 'fixed-window':
      return new FixedWindowModel(rule.limit, windowMs);
    case 'sliding-counter':
      return new SlidingCounterModel(rule.limit, windowMs, rule.slices ?? Math.min(60, windowMs));
    case 'token-bucket':
      return new TokenBucketModel(rule.limit, windowMs, rule.refill ?? rule.limit);
    default:
      return new SlidingLogModel(rule.limit, windowMs);
  }
}

/** What the three counting models share: units held at an instant, found by looking at all of them. */
abstract class CountingModel implements RuleModel {
  protected readonly taken: number[] = [];

  constructor(
    protected readonly limit: number,
    protected readonly windowMs: number,
  ) {}

  /** Whether a unit taken at `at` still counts at `now`. */
  protected abstract counts(at: number, now: number): boolean;

  private held(now: number): number {
    return this.taken.filter((at) => this.counts(at, now)).length;
  }

  remaining(now: number): number {
    return Math.max(0, this.limit - this.held(now));
  }

  admits(cost: number, now: number): boolean {
    return this.held(now) + cost <= this.limit;
  }

  retryAfterMs(cost: number, now: number): number {
    if (this.admits(cost, now)) return 0;
    return cost > this.limit ? Infinity : this.untilTrue(now, (at) => this.admits(cost, at));
  }

  resetMs(now: number): number {
    return this.untilTrue(now, (at) => this.held(at) === 0);
  }

  take(cost: number, now: number): void {
    for (let i = 0; i < cost; i++) this.taken.push(now);
  }

  private untilTrue(now: number, holds: (at: number) => boolean): number {
    if (holds(now)) return 0;
    let high = 1;
    while (!holds(now + high)) high *= 2;
    // What is held only becomes less while nothing is taken, so the first such moment is the only edge.
    let low = Math.floor(high / 2);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (holds(now + middle)) high = middle;
      else low = middle;
    }
    return high;
  }
}

class SlidingLogModel extends CountingModel {
  protected override counts(at: number, now: number): boolean {
    return at > now - this.windowMs;
  }
}

class FixedWindowModel extends CountingModel {
  protected override counts(at: number, now: number): boolean {
    return Math.floor(at / this.windowMs) === Math.floor(now / this.windowMs);
  }
}

/** A unit counts until its whole slice has left a window of whole slices. */
class SlidingCounterModel extends CountingModel {
  constructor(
    limit: number,
    windowMs: number,
    private readonly slices: number,
  ) {
    super(limit, windowMs);
  }

  protected override counts(at: number, now: number): boolean {
    const sliceMs = Math.ceil(this.windowMs / this.slices);
    const covered = Math.ceil(this.windowMs / sliceMs);
    return Math.floor(now / sliceMs) - Math.floor(at / sliceMs) <= covered;
  }
}

/** Tokens as an exact fraction: counted in 1/windowMs of a token, in whole numbers of any size. */
class TokenBucketModel implements RuleModel {
  private readonly window: bigint;
  private readonly refill: bigint;
  private readonly capacity: bigint;
  private tokens: bigint;
  private at = 0n;

  constructor(
    private readonly limit: number,
    windowMs: number,
    refill: number,
  ) {
    this.window = BigInt(windowMs);
    this.refill = BigInt(refill);
    this.capacity = BigInt(limit) * this.window;
    this.tokens = this.capacity;
  }

  private tokensAt(now: number): bigint {
    const refilled = this.tokens + (BigInt(now) - this.at) * this.refill;
    return refilled < this.capacity ? refilled : this.capacity;
  }

  remaining(now: number): number {
    return Number(this.tokensAt(now) / this.window);
  }

  admits(cost: number, now: number): boolean {
    return this.tokensAt(now) >= BigInt(cost) * this.window;
  }

  retryAfterMs(cost: number, now: number): number {
    if (cost > this.limit) return Infinity;
    return this.millisFor(BigInt(cost) * this.window - this.tokensAt(now));
  }

  resetMs(now: number): number {
    return this.millisFor(this.capacity - this.tokensAt(now));
  }

  take(cost: number, now: number): void {
    this.tokens = this.tokensAt(now) - BigInt(cost) * this.window;
    this.at = BigInt(now);
  }

  /** The first whole millisecond at which so much has come back. */
  private millisFor(missing: bigint): number {
    return missing <= 0n ? 0 : Number((missing + this.refill - 1n) / this.refill);
  }
}

/**
 * The most units that any window of length `windowMs` holds, and where: one pass with two pointers.
 * `times` are store times of admitted units, in any order.
 */
export function mostInAnyWindow(times: readonly number[], windowMs: number): number {
  const sorted = [...times].sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  for (let last = 0; last < sorted.length; last++) {
    while (sorted[first]! <= sorted[last]! - windowMs) first++;
    most = Math.max(most, last - first + 1);
  }
  return most;
}
