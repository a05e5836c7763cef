import { Controller, Get } from '@nestjs/common';
import { LimitType, RateLimit, SkipRateLimit } from '../lib/index.js';

/** A limit on the controller holds for every handler that does not say otherwise. */
@Controller('whole')
@RateLimit(LimitType.IP, '3/10s')
export class WholeController {
  @Get('limited')
  limited() {
    return { allowed: '3 in 10 s' };
  }

  @Get('own')
  @RateLimit(LimitType.IP, '5/10s')
  own() {
    return { allowed: '5 in 10 s, in place of what the controller says' };
  }

  @Get('skipped')
  @SkipRateLimit()
  skipped() {
    return { allowed: 'as often as you like' };
  }
}
