import { HttpException, HttpStatus } from '@nestjs/common';
import type { Decision } from '../decision.js';

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
