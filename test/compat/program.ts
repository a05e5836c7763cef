/**
 * An application as a user writes it: limits by decorator, a service that is injected by its type, a
 * counter; on Redis where REDIS_URL is set. Prints what came of it.
 */
export const PROGRAM = `
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type Decision, LimitType, RateLimit, RateLimitInfo, RateLimiterService,
  SlidingWindowModule, type SlidingWindowOptions, SlidingWindowService } from 'nestjs-sliding-window';

const redis = process.env['REDIS_URL'];
const options: SlidingWindowOptions = {
  ...(redis === undefined ? {} : { redis }),
  keyPrefix: 'sw:compat-' + String(process.pid),
  timeout: '10s',
};

@Controller('cats')
class CatsController {
  constructor(
    private readonly limiter: RateLimiterService,
    private readonly windows: SlidingWindowService,
  ) {}

  @Get()
  @RateLimit(LimitType.IP, [{ limit: 2, window: '1m' }])
  async list(@RateLimitInfo() info: Decision | undefined) {
    const { allowed, source } = await this.limiter.consume({ name: 'cats', rules: '9/1m' }, 'tom');
    const count: number = await this.windows.calculateCount('meals', '1m');
    return { allowed, source, count, remaining: info?.policies[0]?.rules[0]?.remaining };
  }
}

@Module({ imports: [SlidingWindowModule.forRoot(options)], controllers: [CatsController] })
class AppModule {}

// @ts-expect-error: the type of a duration is known
RateLimit(LimitType.IP, { limit: 10, window: 'a minute' });

async function main(): Promise<void> {
  const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  const answers: unknown[] = [];
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) {
    const response = await fetch(url + '/cats');
    statuses.push(response.status);
    answers.push(await response.json());
  }
  await app.close();
  console.log(JSON.stringify({ statuses, answers: answers.slice(0, 2) }));
}
void main();
`;
