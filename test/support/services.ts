import { randomBytes } from 'node:crypto';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import {
  RateLimiterService,
  SlidingWindowModule,
  type SlidingWindowOptions,
  SlidingWindowService,
  type StoreEvent,
} from '../../lib/index.js';

export type StoreName = 'memory' | 'redis';

export const STORES: readonly StoreName[] = ['memory', 'redis'];

/** The two services of a module of their own, and what it has written. */
export interface Services {
  readonly limiter: RateLimiterService;
  readonly windows: SlidingWindowService;
  /** First part of every key of this module; no two modules share it unless they are told to. */
  readonly keyPrefix: string;
  /** What has happened to the store, in order. */
  readonly events: readonly StoreEvent[];
  close(): Promise<void>;
}

/** As an application would get them; Redis is the private server of the test run. */
export async function openServices(
  store: StoreName,
  options: SlidingWindowOptions = {},
): Promise<Services> {
  const keyPrefix = options.keyPrefix ?? `sw:t${randomBytes(6).toString('hex')}`;
  const module = await Test.createTestingModule({
    imports: [
      SlidingWindowModule.forRoot({
        ...(store === 'redis' ? { redis: process.env.REDIS_URL! } : {}),
        timeout: '10s',
        denyCache: false,
        ...options,
        keyPrefix,
      }),
    ],
  }).compile();
  const events: StoreEvent[] = [];
  module.get(RateLimiterService).store$.subscribe((event) => events.push(event));
  await module.init();
  return {
    limiter: module.get(RateLimiterService),
    windows: module.get(SlidingWindowService),
    keyPrefix,
    events,
    close: () => module.close(),
  };
}

export function openRedis(): Redis {
  return new Redis(process.env.REDIS_ADMIN_URL!);
}

/** The keys of a module, sorted. */
export async function keysOf(redis: Redis, { keyPrefix }: Services): Promise<string[]> {
  return (await redis.keys(`${keyPrefix}:*`)).sort();
}
