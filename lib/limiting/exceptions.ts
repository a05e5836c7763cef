import { HttpException, HttpStatus } from '@nestjs/common';
import type { Decision } from '../decision.js';
import { StoreError } from '../stores/store-error.js';

/** A denied request: status 429. Carries the decision. */
export class RateLimitException extends HttpException {
  constructor(
    readonly decision: Decision,
    body: string | Record<string, unknown> = 'Too Many Requests',
  ) {
    super(
      typeof body === 'string'
        ? HttpException.createBody(body, 'Too Many Requests', HttpStatus.TOO_MANY_REQUESTS)
        : body,
      HttpStatus.TOO_MANY_REQUESTS,
    );
  }
}

/** Nobody could decide, and the policy says `onStoreError: 'deny'`: status 503. */
export class RateLimitUnavailableException extends HttpException {
  constructor(
    /** When it is worth asking again. */
    readonly retryAfterMs: number,
    options: { cause?: unknown; body?: Record<string, unknown> } = {},
  ) {
    super(
      options.body ??
        HttpException.createBody(
          'The rate limiter is not available',
          'Service Unavailable',
          HttpStatus.SERVICE_UNAVAILABLE,
        ),
      HttpStatus.SERVICE_UNAVAILABLE,
      { cause: options.cause },
    );
  }
}

/** When it is worth asking again while a store is away. */
const UNAVAILABLE_MS = 1000;

/** For the end of a promise chain: a store that failed is told as 503, anything else as it is. */
export function asUnavailable(error: unknown): never {
  throw error instanceof StoreError
    ? new RateLimitUnavailableException(UNAVAILABLE_MS, { cause: error })
    : error;
}
