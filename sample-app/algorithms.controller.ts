import { Controller, Get } from '@nestjs/common';
import { LimitType, RateLimit } from '../lib/index.js';

/** How a limit counts. */
@Controller('algorithms')
export class AlgorithmsController {
  @Get('sliding-log')
  @RateLimit(LimitType.IP, { algorithm: 'sliding-log', limit: 3, window: '10s' })
  slidingLog() {
    return { promise: 'never more than 3 in any 10 s' };
  }

  @Get('fixed-window')
  @RateLimit(LimitType.IP, { algorithm: 'fixed-window', limit: 3, window: '10s' })
  fixedWindow() {
    return { promise: '3 in each 10 s of the clock, so up to 6 around a turn' };
  }

  @Get('sliding-counter')
  @RateLimit(LimitType.IP, { algorithm: 'sliding-counter', limit: 3, window: '10s', slices: 10 })
  slidingCounter() {
    return { promise: 'never more than 3 in any 10 s, and freed up to 1 s late' };
  }

  @Get('token-bucket')
  @RateLimit(LimitType.IP, { algorithm: 'token-bucket', limit: 3, refill: 1, window: '5s' })
  tokenBucket() {
    return { promise: '3 at once, then one every 5 s' };
  }
}
