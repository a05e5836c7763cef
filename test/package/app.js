/* global fetch */
// A Nest application as a user of plain JavaScript would write it, on Redis where REDIS_URL is set.
// Runs a limit and a counter through the installed package and prints what came of it.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  LimitType,
  RateLimit,
  RateLimiterService,
  SlidingWindowModule,
  SlidingWindowService,
} from 'nestjs-sliding-window';

class CatsController {
  list() {
    return ['Tom'];
  }
}
const list = Object.getOwnPropertyDescriptor(CatsController.prototype, 'list');
Get()(CatsController.prototype, 'list', list);
RateLimit(LimitType.IP, '2/1m')(CatsController.prototype, 'list', list);
Controller('cats')(CatsController);

const redis = process.env.REDIS_URL || undefined;
const keyPrefix = `sw:package-${process.pid}`;
class AppModule {}
Module({
  imports: [SlidingWindowModule.forRoot({ redis, keyPrefix })],
  controllers: [CatsController],
})(AppModule);

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
await app.listen(0, '127.0.0.1');
const url = await app.getUrl();
const statuses = [];
let last;
for (let i = 0; i < 3; i++) {
  last = await fetch(`${url}/cats`);
  await last.text();
  statuses.push(last.status);
}
const policy = {
  name: 'all-four',
  rules: [
    { limit: 5, window: '1m' },
    { algorithm: 'fixed-window', limit: 5, window: '1m' },
    { algorithm: 'sliding-counter', limit: 5, window: '1m' },
    { algorithm: 'token-bucket', limit: 5, window: '1m' },
  ],
};
const decision = await app.get(RateLimiterService).consume(policy, 'tom', { cost: 2 });
const count = await app.get(SlidingWindowService).calculateCount('meals', '1m');
await app.close();
console.log(
  JSON.stringify({
    statuses,
    retryAfter: last.headers.get('retry-after'),
    policyField: last.headers.get('ratelimit-policy'),
    source: decision.source,
    remaining: decision.policies[0].rules.map((rule) => rule.remaining),
    count,
  }),
);
