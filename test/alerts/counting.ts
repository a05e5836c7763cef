import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setImmediate } from 'node:timers/promises';
import {
  CountEvent,
  OnThreshold,
  SlidingWindowModule,
  type ThresholdAlert,
} from '../../lib/index.js';

/** How many events of each method a process has to make. */
export interface Job {
  readonly events: number;
}

/** What its listeners were told, and the rejections that nobody handled. */
export interface Report {
  readonly alerts: readonly ThresholdAlert[];
  readonly unhandled: readonly string[];
}

const by = () => 'everybody';
const EVENT = { by, window: '1h' } as const;

@Injectable()
class Work {
  readonly alerts: ThresholdAlert[] = [];

  @CountEvent('cleared', { ...EVENT, threshold: 10, clear: true })
  @CountEvent('several', { ...EVENT, threshold: [20, 50], clear: true })
  @CountEvent('kept', { ...EVENT, threshold: 100, keep: true, cooldown: '1h' })
  async fail(): Promise<void> {
    await setImmediate();
    throw new Error('as ever');
  }

  @OnThreshold('cleared')
  @OnThreshold('several')
  @OnThreshold('kept')
  tell(alert: ThresholdAlert): void {
    this.alerts.push(alert);
    throw new Error('a listener that fails');
  }
}

const [url] = process.argv.slice(2) as [string];
const app = await NestFactory.createApplicationContext(
  {
    module: class Root {},
    imports: [SlidingWindowModule.forRoot({ redis: url, timeout: '30s', onStoreError: 'deny' })],
    providers: [Work],
  },
  { logger: false },
);
const work = app.get(Work);
const unhandled: string[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)));

async function run({ events }: Job): Promise<Report> {
  for (let i = 1; i < events; i++) {
    work.fail().catch(() => undefined);
    if (i % 10 === 0) await setImmediate();
  }
  // The last one's error is handled by nobody.
  void work.fail();
  await setImmediate();
  await app.close();
  return { alerts: work.alerts, unhandled };
}

process.on('message', (job: Job) => void run(job).then((report) => process.send!(report)));
process.send!('ready');
