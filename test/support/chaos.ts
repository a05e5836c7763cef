import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, type ExecutionContext, Get } from '@nestjs/common';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Decision,
  RateLimit,
  RateLimiterService,
  RateLimitInfo,
  type SlidingWindowOptions,
  type StoreErrorPolicy,
  type StoreEvent,
} from '../../lib/index.js';
import { startApp, type TestApp } from './app.js';

const TIMEOUT_MS = 150;
/** Where nothing fails, a pause of the machine shall not look as if something had. */
const PATIENT_MS = 2000;
/** What a request takes beside its decision, on a machine that is busy. */
const HTTP_MS = 100;
const LIMIT = 5;
const SUBJECTS = ['one after the other', 'all at once'] as const;

/** What goes wrong, and where. */
export interface Fault {
  readonly redis: SlidingWindowOptions['redis'];
  on(): unknown;
  off(): unknown;
  close(): unknown;
}

interface Answer {
  readonly status: number;
  readonly source: string | undefined;
  readonly retryAfter: string | null;
  readonly tookMs: number;
}

/** One application on its way through a fault. */
interface Ride {
  readonly policy: StoreErrorPolicy;
  readonly before: Answer;
  readonly during: Readonly<Record<(typeof SUBJECTS)[number], readonly Answer[]>>;
  readonly recovered: boolean;
  readonly events: readonly StoreEvent[];
  /** The longest pause of this process meanwhile, which no deadline can help. */
  readonly pausedMs: number;
}

@Controller()
class ChaosController {
  @Get()
  @RateLimit(
    (context: ExecutionContext) =>
      context.switchToHttp().getRequest<{ query: { subject: string } }>().query.subject,
    { limit: LIMIT, window: '10m' },
  )
  find(@RateLimitInfo() decision: Decision) {
    return decision.source;
  }
}

const POLICIES: readonly StoreErrorPolicy[] = ['local', 'allow', 'deny'];

/**
 * Declares the tests of a fault: with each failure policy an application meets it under load, and
 * every request is answered in time with the right status. `works`: nothing fails, all is decided
 * by Redis.
 */
export function describeFault(
  name: string,
  start: () => Promise<Fault>,
  { works = false }: { works?: boolean } = {},
): void {
  describe(name, () => {
    const rejections: unknown[] = [];
    const onRejection = (reason: unknown) => rejections.push(reason);
    let fault: Fault;
    let rides: Ride[];

    beforeAll(async () => {
      process.on('unhandledRejection', onRejection);
      fault = await start();
      rides = await rideAll(fault, works ? PATIENT_MS : TIMEOUT_MS);
    }, 60_000);
    afterAll(async () => {
      await fault?.close();
      process.off('unhandledRejection', onRejection);
    });

    it.each(POLICIES)('is answered in time and with the right status: %s', (policy) => {
      const { before, during, pausedMs } = rides.find((ride) => ride.policy === policy)!;
      expect(before).toMatchObject({ status: 200, source: 'redis' });
      for (const subject of SUBJECTS) {
        const answers = during[subject];
        expect(Math.max(...answers.map(({ tookMs }) => tookMs))).toBeLessThan(
          TIMEOUT_MS + 50 + HTTP_MS + 2 * pausedMs,
        );
        const statuses = answers.map(({ status }) => status).sort();
        expect(statuses).toEqual(expected(works ? 'local' : policy, answers.length));
        const sources = new Set(answers.flatMap(({ source }) => source ?? []));
        if (policy !== 'deny' || works) {
          expect(sources).toEqual(new Set([works ? 'redis' : 'fallback']));
        }
        for (const { status, retryAfter } of answers) {
          if (status !== 200) expect(retryAfter).toMatch(/^[1-9]\d*$/);
        }
      }
    });

    it.each(POLICIES)('is told once, and over without a restart: %s', (policy) => {
      const { recovered, events } = rides.find((ride) => ride.policy === policy)!;
      expect(recovered).toBe(true);
      const changes = events
        .map(({ type }) => type)
        .filter((type) => type === 'store-down' || type === 'store-up');
      expect(changes).toEqual(works ? [] : ['store-down', 'store-up']);
    });

    it('leaves no promise alone', () => {
      expect(rejections).toEqual([]);
    });
  });
}

function expected(policy: StoreErrorPolicy, count: number): number[] {
  if (policy === 'allow') return new Array<number>(count).fill(200);
  if (policy === 'deny') return new Array<number>(count).fill(503);
  return Array.from({ length: count }, (_, i) => (i < LIMIT ? 200 : 429));
}

async function rideAll(fault: Fault, timeoutMs: number): Promise<Ride[]> {
  const pauses = monitorEventLoopDelay({ resolution: 10 });
  const apps = await Promise.all(POLICIES.map((policy) => open(fault, policy, timeoutMs)));
  const before = await Promise.all(apps.map(({ ask }) => ask('before')));
  await fault.on();
  pauses.enable();
  const during = await Promise.all(apps.map(({ ask }) => meet(ask)));
  pauses.disable();
  await fault.off();
  const recovered = await Promise.all(apps.map(({ ask }) => recovers(ask)));
  await Promise.all(apps.map(({ app }) => app.app.close()));
  return POLICIES.map((policy, i) => ({
    policy,
    before: before[i]!,
    during: during[i]!,
    recovered: recovered[i]!,
    events: apps[i]!.events,
    pausedMs: pauses.max / 1e6,
  }));
}

let prefixes = 0;

async function open(fault: Fault, onStoreError: StoreErrorPolicy, timeout: number) {
  const app = await startApp({
    controllers: [ChaosController],
    options: {
      redis: fault.redis!,
      keyPrefix: `sw:chaos${process.pid}-${prefixes++}`,
      timeout,
      onStoreError,
      // What is denied shall be asked, so that every request meets the fault.
      denyCache: false,
    },
  });
  const events: StoreEvent[] = [];
  app.get(RateLimiterService).store$.subscribe((event) => events.push(event));
  return { app, events, ask: (subject: string) => ask(app, subject) };
}

async function ask(app: TestApp, subject: string): Promise<Answer> {
  const start = performance.now();
  const response = await app.request(`/?subject=${encodeURIComponent(subject)}`);
  const text = await response.text();
  return {
    status: response.status,
    source: response.status === 200 ? text : undefined,
    retryAfter: response.headers.get('retry-after'),
    tookMs: performance.now() - start,
  };
}

type Ask = (subject: string) => Promise<Answer>;

async function meet(ask: Ask): Promise<Ride['during']> {
  const sequential: Answer[] = [];
  for (let i = 0; i < 8; i++) sequential.push(await ask(SUBJECTS[0]));
  const concurrent = await Promise.all(Array.from({ length: 20 }, () => ask(SUBJECTS[1])));
  return { [SUBJECTS[0]]: sequential, [SUBJECTS[1]]: concurrent };
}

async function recovers(ask: Ask): Promise<boolean> {
  const end = performance.now() + 15_000;
  for (let i = 0; performance.now() < end; i++) {
    if ((await ask(`after ${i}`)).source === 'redis') return true;
    await delay(50);
  }
  return false;
}
