import type { DynamicModule, INestApplicationContext } from '@nestjs/common';
import type { TestingModuleBuilder } from '@nestjs/testing';
import type { Duration } from '../rules/duration.js';
import { SlidingWindowModule } from '../sliding-window.module.js';
import { SLIDING_WINDOW_OPTIONS } from '../sliding-window.module-definition.js';
import type { SlidingWindowOptions } from '../sliding-window.options.js';
import { Stores } from '../sliding-window.stores.js';
import { ManualClock } from './manual-clock.js';

/** Drives the time of a module under test, and empties its store. */
export interface DrivenTime {
  readonly clock: ManualClock;
  /** Moves on: windows slide, blocks end, waiting calls go on. */
  advance(duration: Duration): void;
  /** Forgets every limit and every counter of the in-process store; a Redis keeps its own. */
  resetAll(module: INestApplicationContext): void;
}

function drivenTime(): DrivenTime {
  const clock = new ManualClock();
  return {
    clock,
    advance: (duration) => clock.advance(duration),
    resetAll: (module) => module.get(Stores, { strict: false }).forget(),
  };
}

/**
 * Takes over an application under test: its SlidingWindowModule gets the options that are given here
 * and follows a driven clock. Without `redis` it uses the in-process store; with it, the clock drives
 * the scripts too. Tests need no sleeping.
 *
 * @param options The application's own; its `clock` is replaced.
 *
 * @example
 * const builder = Test.createTestingModule({ imports: [AppModule] });
 * const time = driveTime(builder, { policies }); // no `redis`: in process
 * const module = await builder.compile();
 * time.advance('10s');
 * time.resetAll(module);
 */
export function driveTime(
  builder: TestingModuleBuilder,
  options: SlidingWindowOptions = {},
): DrivenTime {
  const time = drivenTime();
  builder.overrideProvider(SLIDING_WINDOW_OPTIONS).useValue({ ...options, clock: time.clock });
  return time;
}

/**
 * The module on the in-process store with a driven clock, for tests of a part of an application.
 *
 * @example
 * const testing = SlidingWindowTestingModule.forRoot({ policies });
 * const module = await Test.createTestingModule({ imports: [testing.module] }).compile();
 * testing.advance('10s');
 */
export const SlidingWindowTestingModule = {
  /** Options as the application's; `redis` is left out. */
  forRoot(options: SlidingWindowOptions = {}): DrivenTime & { readonly module: DynamicModule } {
    const time = drivenTime();
    const { redis: _, ...rest } = options;
    return { ...time, module: SlidingWindowModule.forRoot({ ...rest, clock: time.clock }) };
  },
};
