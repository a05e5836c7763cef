import { LRUCache } from 'lru-cache';
import type { Decision } from '../decision.js';
import type { RateLimiterService } from '../limiting/rate-limiter.service.js';
import type { PolicyDefinition } from '../rules/policy.js';
import { throttlerPolicy } from './throttler-policy.js';

/** Limits chosen per request make new policies; the least recently used are compiled again. */
const MOST_POLICIES = 1000;

/** What the guard of `@nestjs/throttler` is told of a request; times in whole seconds, rounded up. */
export interface ThrottlerRecord {
  /** Units used in the window, this request among them; `limit + 1` for a denied one, which used none. */
  totalHits: number;
  /** Seconds until the whole limit is free again, if nothing more is taken. */
  timeToExpire: number;
  /** The request is denied. */
  isBlocked: boolean;
  /** Seconds until the same request would pass; 0: it has passed. */
  timeToBlockExpire: number;
}

/**
 * A `ThrottlerStorage` for `@nestjs/throttler` 6: its guard and its decorators stay, and the limits
 * become exact, on the store of `SlidingWindowModule`. A throttler admits no more than `limit`
 * requests in any window of `ttl`, and a denied request uses nothing.
 *
 * @example
 * ThrottlerModule.forRootAsync({
 *   inject: [SlidingWindowThrottlerStorage],
 *   useFactory: (storage: SlidingWindowThrottlerStorage) => ({
 *     throttlers: [{ limit: 10, ttl: seconds(1) }],
 *     storage,
 *   }),
 * })
 */
export class SlidingWindowThrottlerStorage {
  private readonly policies = new LRUCache<string, PolicyDefinition>({ max: MOST_POLICIES });

  constructor(private readonly limiter: RateLimiterService) {}

  /**
   * Charges one request.
   *
   * @param key Whom and what the guard counts; throttlers of different names share nothing.
   * @param ttl The window, in milliseconds, 1 to a year; a fraction is rounded up.
   * @param limit Requests in a window; 0 denies all, a fraction is rounded down.
   * @param blockDuration Milliseconds for which a denial keeps the key out; 0 or less: not at all.
   * @throws RateLimitConfigError for numbers that cannot be meant, `RateLimitUnavailableException`
   * (503) where `onStoreError` is `'deny'` and no store can answer.
   */
  async increment(
    key: string,
    ttl: number,
    limit: number,
    blockDuration: number,
    throttlerName: string,
  ): Promise<ThrottlerRecord> {
    const policy = this.policyOf(throttlerName, limit, ttl, blockDuration);
    return recordOf(await this.limiter.consume(policy, key), ttl, blockDuration);
  }

  private policyOf(
    name: string,
    limit: number,
    ttl: number,
    blockDuration: number,
  ): PolicyDefinition {
    const numbers = `${limit}|${ttl}|${blockDuration}|${name}`;
    let policy = this.policies.get(numbers);
    if (policy === undefined) {
      policy = throttlerPolicy(name, limit, ttl, blockDuration);
      this.policies.set(numbers, policy);
    }
    return policy;
  }
}

function recordOf(decision: Decision, ttl: number, blockDuration: number): ThrottlerRecord {
  const { allowed } = decision;
  const rule = decision.policies[0]!.rules[0]!;
  // A limit of 0 never passes, but the guard needs a number.
  const waitMs = decision.retryAfterMs ?? Math.max(ttl, blockDuration);
  return {
    totalHits: rule.limit - rule.remaining + (allowed ? 0 : 1),
    timeToExpire: seconds(rule.resetMs),
    isBlocked: !allowed,
    timeToBlockExpire: allowed ? 0 : seconds(waitMs),
  };
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
