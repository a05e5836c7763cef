import type { Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule, type ThrottlerOptions } from '@nestjs/throttler';
import { SlidingWindowThrottlerStorage, type SlidingWindowOptions } from '../../lib/index.js';
import { startApp, type TestApp } from '../support/app.js';

/** An application of @nestjs/throttler whose counts are kept by this library. */
export function startThrottled(
  options: SlidingWindowOptions,
  throttlers: ThrottlerOptions[],
  controllers: Type[],
): Promise<TestApp> {
  return startApp({
    options,
    controllers,
    imports: [
      ThrottlerModule.forRootAsync({
        inject: [SlidingWindowThrottlerStorage],
        useFactory: (storage: SlidingWindowThrottlerStorage) => ({ throttlers, storage }),
      }),
    ],
    providers: [{ provide: APP_GUARD, useClass: ThrottlerGuard }],
  });
}
