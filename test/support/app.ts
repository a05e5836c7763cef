import type { INestApplication, ModuleMetadata, Provider, Type } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { SlidingWindowModule, type SlidingWindowOptions } from '../../lib/index.js';

export type Platform = 'express' | 'fastify';

export interface TestApp {
  readonly app: INestApplication;
  get<T>(type: Type<T>): T;
  /** A request from `ip`, which the server trusts to be forwarded. */
  request(
    path: string,
    options?: { ip?: string; user?: string; method?: string },
  ): Promise<Response>;
  /** The statuses of `count` requests, one after the other. */
  statuses(
    count: number,
    path: string,
    options?: { ip?: string; user?: string },
  ): Promise<number[]>;
}

export interface TestAppOptions {
  options?: SlidingWindowOptions;
  controllers?: Type[];
  providers?: Provider[];
  imports?: ModuleMetadata['imports'];
  platform?: Platform;
}

const opened: INestApplication[] = [];

/** Options for a store by name; Redis gets a prefix of its own, so that nothing is shared. */
let prefixes = 0;
export function storeOptions(store: 'memory' | 'redis'): SlidingWindowOptions {
  return store === 'memory'
    ? {}
    : { redis: process.env.REDIS_URL!, keyPrefix: `sw:t${process.pid}-${prefixes++}` };
}

export async function startApp({
  options = {},
  controllers = [],
  providers = [],
  imports = [],
  platform = 'express',
}: TestAppOptions): Promise<TestApp> {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options), ...imports],
    controllers,
    providers,
  }).compile();
  const app =
    platform === 'express'
      ? module.createNestApplication(new ExpressAdapter(), { logger: false })
      : module.createNestApplication<NestFastifyApplication>(
          new FastifyAdapter({ trustProxy: 'loopback' }),
          { logger: false },
        );
  if (platform === 'express') {
    (app.getHttpAdapter().getInstance() as { set(k: string, v: unknown): void }).set(
      'trust proxy',
      'loopback',
    );
  }
  opened.push(app);
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const request: TestApp['request'] = (path, { ip, user, method = 'GET' } = {}) =>
    fetch(url + path, {
      method,
      headers: {
        ...(ip === undefined ? {} : { 'x-forwarded-for': ip }),
        ...(user === undefined ? {} : { 'x-user': user }),
      },
    });
  return {
    app,
    get: (type) => app.get(type),
    request,
    async statuses(count, path, opts) {
      const codes: number[] = [];
      for (let i = 0; i < count; i++) codes.push((await request(path, opts)).status);
      return codes;
    },
  };
}

/** Closes what a test file has opened. */
export async function closeApps(): Promise<void> {
  for (const app of opened.splice(0)) await app.close();
}

export function redisClient(): Redis {
  return new Redis(process.env.REDIS_ADMIN_URL!);
}
