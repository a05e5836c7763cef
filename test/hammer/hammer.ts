import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { PolicyDefinition } from '../../lib/index.js';
import { RateLimiterService, SlidingWindowModule, SlidingWindowService } from '../../lib/index.js';

/** What a process of the hammer is told to do. */
export interface Job {
  readonly policy: PolicyDefinition;
  readonly subject: string;
  /** As long as it is to go on, or how often it is to ask. */
  readonly forMs?: number;
  readonly decisions?: number;
  /** Whether each admitted is counted as an event, too. */
  readonly counting?: boolean;
  /** Callers at once, each asking again as soon as it is answered. */
  readonly callers: number;
}

export interface Admitted {
  readonly at: number;
  readonly remaining: number;
}

/** What it saw. */
export interface Report {
  readonly admitted: readonly Admitted[];
  readonly denied: number;
  /** Counts that `calculateCount` has returned. */
  readonly counts: readonly number[];
  readonly errors: readonly string[];
}

const [url, keyPrefix] = process.argv.slice(2) as [string, string];
const app = await NestFactory.createApplicationContext(
  SlidingWindowModule.forRoot({ redis: url, keyPrefix, denyCache: false, timeout: '30s' }),
  { logger: false },
);
const limiter = app.get(RateLimiterService);
const windows = app.get(SlidingWindowService);

async function hammer(job: Job): Promise<Report> {
  const report = {
    admitted: [] as Admitted[],
    denied: 0,
    counts: [] as number[],
    errors: [] as string[],
  };
  const { policy, subject, forMs = Infinity, decisions = Infinity, callers, counting } = job;
  const end = Date.now() + forMs;
  let asked = 0;
  const caller = async () => {
    while (asked++ < decisions && Date.now() < end) {
      try {
        const decision = await limiter.consume(policy, subject);
        if (decision.allowed) {
          const remaining = decision.policies[0]!.rules[0]!.remaining;
          report.admitted.push({ at: decision.decidedAt, remaining });
          if (counting) report.counts.push(await windows.calculateCount(subject, '1h'));
        } else report.denied++;
      } catch (error) {
        report.errors.push(String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return report;
}

process.on('message', (job: Job) => void hammer(job).then((report) => process.send!(report)));
process.on('disconnect', () => void app.close());
process.send!('ready');
