import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type DegradedStatus,
  RateLimiterService,
  SlidingWindowHealthIndicator,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import { closeApps, startApp, type TestApp } from '../support/app.js';
import { freePort, type RedisServer, startRedis } from '../support/redis-server.js';

let whenDegraded: DegradedStatus | undefined;

@Controller()
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly limits: SlidingWindowHealthIndicator,
  ) {}

  @Get('health')
  @HealthCheck()
  check() {
    const options = whenDegraded === undefined ? {} : { whenDegraded };
    return this.health.check([() => this.limits.check('limits', options)]);
  }
}

describe('the health indicator, by @nestjs/terminus', () => {
  let server: RedisServer | undefined;
  afterEach(async () => {
    await closeApps();
    server?.process.kill('SIGCONT');
    await server?.stop('SIGKILL');
    server = whenDegraded = undefined;
  });

  const start = (options: SlidingWindowOptions) =>
    startApp({
      options,
      imports: [TerminusModule.forRoot({ logger: false })],
      controllers: [HealthController],
    });

  async function healthOf(app: TestApp) {
    const response = await app.request('/health');
    const { status, details } = (await response.json()) as {
      status: string;
      details: { limits: Record<string, unknown> };
    };
    return [response.status, status, details.limits] as const;
  }

  it('is up in process', async () => {
    expect(await healthOf(await start({}))).toEqual([200, 'ok', { status: 'up', store: 'memory' }]);
  });

  it('is up with Redis, and tells what the self-check found', async () => {
    server = await startRedis(['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru']);
    const [code, status, limits] = await healthOf(await start({ redis: server.url }));
    expect([code, status]).toEqual([200, 'ok']);
    expect(limits).toEqual({
      status: 'up',
      store: 'redis',
      version: expect.stringMatching(/^\d+\./),
      problems: ['evicts-keys'],
    });
  });

  it('is degraded while Redis is stopped, with the reason, and recovers', async () => {
    const port = await freePort();
    server = await startRedis([], port);
    const app = await start({ redis: server.url });
    await server.stop('SIGKILL');
    const limiter = app.get(RateLimiterService);
    for (let i = 0; i < 6; i++) await limiter.consume({ name: 'p', rules: '9/1m' }, 'a');
    expect(await healthOf(app)).toEqual([
      200,
      'degraded',
      {
        status: 'degraded',
        store: 'redis',
        reason: expect.any(String),
        problems: ['unreachable'],
      },
    ]);
    server = await startRedis([], port);
    for (let i = 0; i < 100; i++) {
      await limiter.consume({ name: 'p', rules: '9/1m' }, 'a');
      if ((await healthOf(app))[1] === 'ok') break;
      await delay(50);
    }
    expect(await healthOf(app)).toMatchObject([200, 'ok', { status: 'up', problems: [] }]);
  });

  it('is down while Redis stands still, where that is asked for', async () => {
    whenDegraded = 'down';
    server = await startRedis();
    const app = await start({ redis: server.url });
    server.process.kill('SIGSTOP');
    const [code, status, limits] = await healthOf(app);
    expect([code, status]).toEqual([503, 'error']);
    expect(limits).toMatchObject({ status: 'down', reason: 'unreachable' });
  });
});
