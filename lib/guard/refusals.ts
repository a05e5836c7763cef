import type { ExecutionContext } from '@nestjs/common';
import type { Decision } from '../decision.js';
import { RateLimitException, RateLimitUnavailableException } from '../limiting/exceptions.js';
import type { ContextAdapter } from './contexts/context.js';
import { PROBLEM_MEDIA_TYPE, quotaExceeded, temporaryReducedCapacity } from './problem-details.js';

/** When it is worth asking again while nobody can decide. */
const UNAVAILABLE_MS = 1000;

/** The exceptions by which a context is told that a request does not pass. */
export class Refusals {
  constructor(private readonly options: { readonly problemDetails: boolean }) {}

  denied(
    decision: Decision,
    message: string | undefined,
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): Error | Promise<Error> {
    if (adapter.refuse !== undefined) {
      return adapter.refuse(
        {
          code: 'RATE_LIMITED',
          message: message ?? 'Too Many Requests',
          retryAfterMs: decision.retryAfterMs,
          violatedPolicies: decision.violated,
          decision,
          cause: undefined,
        },
        context,
      );
    }
    if (!this.options.problemDetails) return new RateLimitException(decision, message);
    adapter.setHeader?.(context, 'Content-Type', PROBLEM_MEDIA_TYPE);
    return new RateLimitException(decision, quotaExceeded(decision, message));
  }

  unavailable(
    cause: unknown,
    context: ExecutionContext,
    adapter: ContextAdapter,
  ): Error | Promise<Error> {
    const retryAfterMs =
      cause instanceof RateLimitUnavailableException ? cause.retryAfterMs : UNAVAILABLE_MS;
    adapter.setHeader?.(context, 'Retry-After', String(Math.ceil(retryAfterMs / 1000)));
    if (adapter.refuse !== undefined) {
      return adapter.refuse(
        {
          code: 'RATE_LIMIT_UNAVAILABLE',
          message: 'The rate limiter is not available',
          retryAfterMs,
          violatedPolicies: [],
          decision: undefined,
          cause,
        },
        context,
      );
    }
    if (!this.options.problemDetails) {
      return new RateLimitUnavailableException(retryAfterMs, { cause });
    }
    adapter.setHeader?.(context, 'Content-Type', PROBLEM_MEDIA_TYPE);
    return new RateLimitUnavailableException(retryAfterMs, {
      cause,
      body: temporaryReducedCapacity(),
    });
  }
}
