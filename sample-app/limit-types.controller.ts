import { Controller, Get, UseGuards } from '@nestjs/common';
import { LimitType, RateLimit } from '../lib/index.js';
import { DemoUserGuard } from './demo-auth.guards.js';
import { headerOf } from './requests.js';

/** Whom a limit counts. Each route allows three requests in ten seconds. */
@Controller('limits')
export class LimitTypesController {
  @Get('ip')
  @RateLimit(LimitType.IP, '3/10s')
  ip() {
    return { counted: 'your address' };
  }

  @Get('user')
  @UseGuards(DemoUserGuard)
  @RateLimit(LimitType.USER_ID, '3/10s')
  user() {
    return { counted: 'the user in the header x-demo-user' };
  }

  @Get('global')
  @RateLimit(LimitType.GLOBAL, '3/10s')
  global() {
    return { counted: 'everybody together' };
  }

  @Get('api-key')
  @RateLimit((context) => headerOf(context, 'x-api-key'), '3/10s')
  apiKey() {
    return { counted: 'the header x-api-key, or your address without one' };
  }
}
