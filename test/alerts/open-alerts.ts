import { Injectable, type LoggerService, type Provider, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { setImmediate } from 'node:timers/promises';
import {
  OnThreshold,
  SlidingWindowModule,
  type SlidingWindowOptions,
  SlidingWindowService,
  type ThresholdAlert,
} from '../../lib/index.js';
import { storeOptions } from '../support/app.js';
import type { StoreName } from '../support/services.js';

/** What the log was told, as one text per line. */
export class Log implements LoggerService {
  readonly lines: string[] = [];
  readonly log = () => undefined;
  readonly warn = (message: unknown) => void this.lines.push(`warn ${String(message)}`);
  readonly error = (message: unknown) => void this.lines.push(`error ${String(message)}`);
}

/** Remembers what it is told of the event `counted`. */
@Injectable()
export class Listener {
  readonly alerts: ThresholdAlert[] = [];

  @OnThreshold('counted')
  tell(alert: ThresholdAlert): void {
    this.alerts.push(alert);
  }
}

export interface OpenAlerts {
  readonly log: Log;
  /** Of `Listener`, where it is provided. */
  readonly alerts: readonly ThresholdAlert[];
  readonly windows: SlidingWindowService;
  get<T>(type: Type<T>): T;
  /** When what has happened is counted, and told. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

/** An application that has started, without a server. */
export async function openAlerts(
  store: StoreName,
  providers: Provider[],
  options: SlidingWindowOptions = {},
): Promise<OpenAlerts> {
  const log = new Log();
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot({ ...storeOptions(store), timeout: '10s', ...options })],
    providers,
  })
    .setLogger(log)
    .compile();
  await module.init();
  const windows = module.get(SlidingWindowService);
  return {
    log,
    alerts: providers.includes(Listener) ? module.get(Listener).alerts : [],
    windows,
    get: (type) => module.get(type),
    async settle() {
      // Answers come in the order of the questions; a cooldown is asked about after the count.
      for (let i = 0; i < 4; i++) {
        await windows.count('settle', '1m');
        await setImmediate();
      }
    },
    close: () => module.close(),
  };
}
