import { type ArgumentsHost, BadRequestException, Catch } from '@nestjs/common';
import { BaseExceptionFilter } from '@nestjs/core';
import { RateLimitConfigError } from '../lib/index.js';

/**
 * Here every argument of the library comes from the client, so one that it refuses is the client's
 * mistake. Where arguments come from your own code, a 500 is the right answer.
 */
@Catch(RateLimitConfigError)
export class ConfigErrorFilter extends BaseExceptionFilter {
  override catch(error: RateLimitConfigError, host: ArgumentsHost): void {
    super.catch(new BadRequestException(error.message, { cause: error }), host);
  }
}
