import { Module } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { TerminusModule } from '@nestjs/terminus';
import * as promClient from 'prom-client';
import {
  LimitType,
  prometheusMetrics,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../lib/index.js';
import { AlgorithmsController } from './algorithms.controller.js';
import { ConfigErrorFilter } from './config-error.filter.js';
import { LimitTypesController } from './limit-types.controller.js';
import { LiveController } from './live.controller.js';
import { LiveFeed } from './live-feed.js';
import { LoginAlerts } from './login-alerts.js';
import { LoginController } from './login.controller.js';
import { ObservabilityController } from './observability.controller.js';
import { PoliciesController } from './policies.controller.js';
import { RoutesController } from './routes.controller.js';
import { SlicesController } from './slices.controller.js';
import { SlidingWindowController } from './sliding-window.controller.js';
import { WholeController } from './whole.controller.js';

export function slidingWindowOptions(): SlidingWindowOptions {
  return {
    // With Redis, limits hold for all processes together; without it, for this one.
    redis: process.env.REDIS_URL || undefined,
    metrics: prometheusMetrics(promClient),
    policies: {
      search: { type: LimitType.IP, rules: '3/10s', message: 'Search less often' },
      'failed-logins': {
        type: LimitType.IP,
        rules: '5/15m',
        countWhen: 'failure',
        blockFor: '15m',
        message: 'Too many failed logins from this address',
      },
    },
  };
}

@Module({
  imports: [
    SlidingWindowModule.forRootAsync({ useFactory: slidingWindowOptions }),
    TerminusModule.forRoot({ logger: false }),
  ],
  controllers: [
    LiveController,
    RoutesController,
    SlidingWindowController,
    SlicesController,
    LimitTypesController,
    AlgorithmsController,
    PoliciesController,
    WholeController,
    LoginController,
    ObservabilityController,
  ],
  providers: [LiveFeed, LoginAlerts, { provide: APP_FILTER, useClass: ConfigErrorFilter }],
})
export class AppModule {}
