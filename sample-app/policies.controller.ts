import { Controller, Get } from '@nestjs/common';
import { type Decision, LimitType, RateLimit, RateLimitInfo } from '../lib/index.js';
import { integer } from './parameters.js';
import { headerOf, requestOf } from './requests.js';

/** What else a policy can say. */
@Controller('policies')
export class PoliciesController {
  @Get('several-rules')
  @RateLimit(LimitType.IP, [
    { limit: 3, window: '10s' },
    { limit: 5, window: '1m' },
  ])
  severalRules() {
    return { allowed: '3 in 10 s, and 5 in a minute' };
  }

  @Get('named')
  @RateLimit('search')
  named() {
    return { allowed: 'what the policy "search" of the module says' };
  }

  @Get('stacked')
  @RateLimit(LimitType.IP, '3/10s')
  @RateLimit(LimitType.GLOBAL, '5/10s')
  stacked() {
    return { allowed: '3 in 10 s from an address, 5 in 10 s from everybody' };
  }

  @Get('by-plan')
  @RateLimit(LimitType.IP, (context) => (headerOf(context, 'x-plan') === 'pro' ? '6/10s' : '3/10s'))
  byPlan() {
    return { allowed: '6 in 10 s with the header x-plan: pro, else 3' };
  }

  @Get('cost')
  @RateLimit(LimitType.IP, '10/10s', {
    cost: (context) => integer('units', requestOf(context).query.units, 10),
  })
  cost() {
    return { allowed: '10 units in 10 s; a request takes as many as the parameter units says' };
  }

  @Get('info')
  @RateLimit(LimitType.IP, '3/10s')
  info(@RateLimitInfo() decision: Decision) {
    return decision;
  }
}
