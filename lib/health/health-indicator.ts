import { Injectable } from '@nestjs/common';
import type { RedisProblemCode } from '../stores/redis/self-check.js';
import { Stores } from '../sliding-window.stores.js';

/** What is said while `onStoreError` decides. Terminus before version 12 knows no `'degraded'`. */
export type DegradedStatus = 'degraded' | 'up' | 'down';

/** What the indicator found; the form that `@nestjs/terminus` takes. */
export interface SlidingWindowHealth {
  readonly status: 'up' | DegradedStatus;
  readonly store: 'redis' | 'memory';
  /** Why Redis does not decide: the breaker's reason, or the self-check's. */
  readonly reason?: string;
  /** Of Redis, where it may be asked. */
  readonly version?: string;
  /** What the self-check found, fatal or not. */
  readonly problems?: readonly RedisProblemCode[];
}

/** With these Redis decides nothing. */
const FATAL: readonly RedisProblemCode[] = ['unreachable', 'scripts-refused', 'replica'];

/**
 * Health for `@nestjs/terminus`: up, or degraded while `onStoreError` decides because Redis does not.
 * Looks at Redis at each call, for a second at most.
 *
 * @example
 * health.check([() => limits.check('limits')]);
 * health.check([() => limits.check('limits', { whenDegraded: 'down' })]);
 */
@Injectable()
export class SlidingWindowHealthIndicator {
  /** @hidden Nest makes it. */
  constructor(private readonly stores: Stores) {}

  /** Never rejects. `whenDegraded`: the status to give then. @default 'degraded' */
  async check<Key extends string = 'sliding-window'>(
    key: Key = 'sliding-window' as Key,
    { whenDegraded = 'degraded' }: { whenDegraded?: DegradedStatus } = {},
  ): Promise<Record<Key, SlidingWindowHealth>> {
    return { [key]: await this.look(whenDegraded) } as Record<Key, SlidingWindowHealth>;
  }

  private async look(whenDegraded: DegradedStatus): Promise<SlidingWindowHealth> {
    const check = await this.stores.check();
    if (check === undefined) return { status: 'up', store: 'memory' };
    const problems = check.problems.map(({ code }) => code);
    const { state } = this.stores;
    const reason = state.up ? problems.find((code) => FATAL.includes(code)) : state.reason;
    return {
      status: reason === undefined ? 'up' : whenDegraded,
      store: 'redis',
      ...(reason === undefined ? {} : { reason }),
      ...(check.version === undefined ? {} : { version: check.version }),
      problems,
    };
  }
}
