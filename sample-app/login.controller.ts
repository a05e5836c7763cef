import { Controller, Get, HttpCode, HttpStatus, Post, UseGuards } from '@nestjs/common';
import { LimitType, RateLimit } from '../lib/index.js';
import { DemoPasswordGuard, DemoUserGuard } from './demo-auth.guards.js';

@Controller()
export class LoginController {
  /**
   * Limits by address run before every guard, so the attempts that the password guard refuses are
   * counted. The named policy keeps count of those alone, and locks the address after five.
   */
  @Post('login')
  @HttpCode(HttpStatus.OK)
  @UseGuards(DemoPasswordGuard)
  @RateLimit(LimitType.IP, '10/10s', { name: 'login-attempts' })
  @RateLimit('failed-logins')
  login() {
    return { welcome: true };
  }

  /** Limits by user run after every guard: only there the user is known. */
  @Get('profile')
  @UseGuards(DemoUserGuard)
  @RateLimit(LimitType.USER_ID, '3/10s')
  profile() {
    return { plan: 'free' };
  }
}
