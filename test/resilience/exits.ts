// An application that decides, closes, and says when it has: its process has to end by itself.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimiterService, SlidingWindowModule } from '../../lib/index.js';

const [redis] = process.argv.slice(2);

@Module({ imports: [SlidingWindowModule.forRoot({ redis })] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
const limiter = app.get(RateLimiterService);
const decisions = await Promise.all(
  Array.from({ length: 20 }, (_, i) =>
    limiter.consume({ name: 'p', rules: '5/1m', lease: { size: 2, ttl: '50s' } }, `${i % 2}`),
  ),
);
await app.close();
console.log(decisions[0]!.source);
