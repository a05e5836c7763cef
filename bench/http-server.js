// One contestant of bench/http.js, as a server in a process of its own: node http-server.js <platform> <guard>
import 'reflect-metadata';
import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';
import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Throttle, ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import * as promClient from 'prom-client';
import { LimitType, prometheusMetrics, RateLimit, SlidingWindowModule } from '../dist/index.js';

/** Never reached: every request is decided, and admitted. A window of a second keeps throttler's lists short. */
const LIMIT = 100_000;
const WINDOW = 1000;

const redis = process.env.REDIS_URL;

class EmptyGuard {
  canActivate() {
    return true;
  }
}

const ours = (options) => ({
  imports: [SlidingWindowModule.forRoot(options)],
  decorators: [RateLimit(LimitType.IP, { limit: LIMIT, window: WINDOW })],
});

const throttler = (storage) => ({
  imports: [ThrottlerModule.forRoot({ throttlers: [{ limit: LIMIT, ttl: WINDOW }], storage })],
  decorators: [UseGuards(ThrottlerGuard), Throttle({ default: { limit: LIMIT, ttl: WINDOW } })],
});

/** What stands before the handler. */
const guards = {
  none: () => ({}),
  empty: () => ({ decorators: [UseGuards(EmptyGuard)] }),
  memory: () => ours({}),
  redis: () => ours({ redis }),
  'memory-metrics': () => ours({ metrics: prometheusMetrics(promClient) }),
  'redis-metrics': () => ours({ redis, metrics: prometheusMetrics(promClient) }),
  'throttler-memory': () => throttler(undefined),
  'throttler-redis': () => throttler(new ThrottlerStorageRedisService(redis)),
};

/** As TypeScript writes them: the last decorator first. */
function decorate(target, key, decorators) {
  const descriptor = Object.getOwnPropertyDescriptor(target, key);
  for (const decorator of decorators.toReversed()) decorator(target, key, descriptor);
}

function applicationOf({ imports = [], decorators = [] }) {
  class HelloController {
    hello() {
      return { hello: 'world' };
    }
  }
  Controller()(HelloController);
  decorate(HelloController.prototype, 'hello', [Get(), ...decorators]);
  class AppModule {}
  Module({ imports, controllers: [HelloController] })(AppModule);
  return AppModule;
}

const [platform, guard] = process.argv.slice(2);
const module = applicationOf(guards[guard]());
const adapter = platform === 'express' ? new ExpressAdapter() : new FastifyAdapter();
const app = await NestFactory.create(module, adapter, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
process.send({ url: await app.getUrl() });
process.on('disconnect', () => void app.close());
