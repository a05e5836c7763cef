import { Controller, Get, Header } from '@nestjs/common';
import { HealthCheck, HealthCheckService } from '@nestjs/terminus';
import { register } from 'prom-client';
import { SkipRateLimit, SlidingWindowHealthIndicator } from '../lib/index.js';

/** What an operator looks at. */
@Controller()
@SkipRateLimit()
export class ObservabilityController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly limits: SlidingWindowHealthIndicator,
  ) {}

  @Get('metrics')
  @Header('Content-Type', register.contentType)
  metrics() {
    return register.metrics();
  }

  @Get('health')
  @HealthCheck()
  check() {
    return this.health.check([() => this.limits.check('limits')]);
  }
}
