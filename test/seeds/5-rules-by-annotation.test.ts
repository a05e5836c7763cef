import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, type INestApplication, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Redis } from 'ioredis';
import {
  LimitType,
  RateLimit,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { commandsDuring } from '../support/commands.js';
import { keysOf, openRedis, openServices, type Services } from '../support/services.js';

@Controller()
class Annotated {
  @Get('ip')
  @RateLimit(LimitType.IP, [
    { limit: 2, window: '1m' },
    { limit: 3, window: '1h' },
  ])
  ip() {
    return 'ok';
  }

  @Get('user')
  @RateLimit(LimitType.USER_ID, { limit: 1, window: '1m' })
  user() {
    return 'ok';
  }

  @Get('global')
  @RateLimit(LimitType.GLOBAL, { limit: 1, window: '1m' })
  global() {
    return 'ok';
  }
}

interface FakeRequest {
  headers: Record<string, string | undefined>;
}

describe('system 5: several rules on one method, by annotation', () => {
  const clock = new ManualClock();
  let services: Services;
  let redis: Redis;
  let app: INestApplication | undefined;
  let apps = 0;

  beforeAll(async () => {
    services = await openServices('redis', { clock });
    redis = openRedis();
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });
  afterAll(async () => {
    await services.close();
    redis.disconnect();
  });

  /** Asks a path of the annotated controller, from an address and perhaps as a user. */
  async function start(options: SlidingWindowOptions = {}) {
    const { keyPrefix } = services;
    const module = await Test.createTestingModule({
      imports: [
        SlidingWindowModule.forRoot({
          redis: process.env.REDIS_URL!,
          timeout: '10s',
          clock,
          keyPrefix: `${keyPrefix}-${apps++}`,
          getIp: (context) => {
            const { headers } = context.switchToHttp().getRequest<FakeRequest>();
            return headers['x-address'];
          },
          getUserId: (context) => {
            const { headers } = context.switchToHttp().getRequest<FakeRequest>();
            return headers['x-user'];
          },
          ...options,
        }),
      ],
      controllers: [Annotated],
    }).compile();
    app = module.createNestApplication({ logger: false });
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    return async (path: string, address: string, user?: string) => {
      const headers = { 'x-address': address, ...(user === undefined ? {} : { 'x-user': user }) };
      return (await fetch(`${url}/${path}`, { headers })).status;
    };
  }

  it('checks every rule and adds the event only if all pass', async () => {
    const ask = await start();
    expect(await ask('ip', '10.0.0.1')).toBe(200);
    expect(await ask('ip', '10.0.0.1')).toBe(200);
    expect(await ask('ip', '10.0.0.1')).toBe(429);
    expect(await ask('ip', '10.0.0.2')).toBe(200);
    clock.advance('1m');
    // The denied one has not used up the hour.
    expect(await ask('ip', '10.0.0.1')).toBe(200);
    expect(await ask('ip', '10.0.0.1')).toBe(429);
  });

  it('counts everybody together where it says so, and users apart', async () => {
    const ask = await start();
    expect(await ask('global', '10.0.0.1')).toBe(200);
    expect(await ask('global', '10.0.0.2')).toBe(429);
    expect(await ask('user', '10.0.0.1', 'ann')).toBe(200);
    expect(await ask('user', '10.0.0.1', 'bob')).toBe(200);
    expect(await ask('user', '10.0.0.2', 'ann')).toBe(429);
  });

  it("takes a caller's unique id: the same one within the window counts once", async () => {
    const { windows } = services;
    expect(await windows.calculateCount('ids', '10s', { id: 'a' })).toBe(1);
    expect(await windows.calculateCount('ids', '10s', { id: 'a' })).toBe(1);
    expect(await windows.calculateCount('ids', '10s', { id: 'b' })).toBe(2);
    clock.advance('10s');
    expect(await windows.calculateCount('ids', '10s', { id: 'a' })).toBe(1);
  });

  it('defect: the unique id and the time are passed as KEYS', async () => {
    const { limiter, windows, keyPrefix } = services;
    const rules = ['5/1m', { algorithm: 'token-bucket', limit: 5, window: '1m' }] as const;
    const commands = await commandsDuring(redis, keyPrefix, async () => {
      await limiter.consume({ name: 'keys', rules }, 'user-1');
      await limiter.consume({ name: 'key', rules: '5/1m' }, 'user-1');
      await windows.calculateCount('counted', '1m', { id: 'unique-id' });
    });
    // A script that the server has not seen is sent a second time, with its text.
    const calls = commands.map(([, , count, ...rest]) => rest.slice(0, Number(count)));
    const keys = calls.filter((call, i) => calls[i - 1]?.join() !== call.join());
    expect(keys.map(({ length }) => length)).toEqual([2, 1, 1]);
    for (const call of keys) {
      // A cluster hashes what stands in braces: one slot for a call.
      const tags = call.map((key) => /^[^{]*\{([^}]+)\}/.exec(key)?.[1]);
      expect(new Set(tags).size).toBe(1);
      expect(tags[0]).toBeTruthy();
      expect(call.join()).not.toMatch(new RegExp(`unique-id|${clock.now()}`));
    }
  });

  it('defect: the expiry is set before there is a key', async () => {
    const { limiter } = services;
    const rules = [
      { limit: 5, window: '10s' },
      { limit: 9, window: '1m' },
    ] as const;
    await limiter.consume({ name: 'first-write', rules }, 'u');
    const key = (await keysOf(redis, services)).find((one) => one.includes('first-write'))!;
    const life = await redis.pttl(key);
    expect(life).toBeGreaterThan(50_000);
    // A window, an eighth of it, and a second.
    expect(life).toBeLessThanOrEqual(68_500);
  });

  it('defect: after random steps entries lie in the future', async () => {
    const { limiter } = services;
    const policy = { name: 'future', rules: '100/1m' } as const;
    await Promise.all(Array.from({ length: 100 }, () => limiter.consume(policy, 'u')));
    const key = (await keysOf(redis, services)).find((one) => one.includes('future'))!;
    const entries = await redis.lrange(key, 0, -1);
    expect(entries).toEqual(new Array(100).fill(String(clock.now())));
  });

  it('defect: anonymous callers of a user-id limit share one bucket', async () => {
    const ask = await start();
    expect(await ask('user', '10.0.0.1')).toBe(200);
    expect(await ask('user', '10.0.0.2')).toBe(200);
    expect(await ask('user', '10.0.0.1')).toBe(429);
    // A user whose id looks like an address is not that address.
    expect(await ask('user', '10.0.0.9', '10.0.0.1')).toBe(200);
  });

  it('defect: classes of one name share a budget', async () => {
    const twin = () => {
      @Controller('twin')
      class Twin {
        @Get()
        @RateLimit(LimitType.IP, { limit: 1, window: '1m' })
        find() {
          return 'ok';
        }
      }
      return Twin;
    };
    @Module({ controllers: [twin()] })
    class OtherModule {}
    const boot = Test.createTestingModule({
      imports: [SlidingWindowModule.forRoot(), OtherModule],
      controllers: [twin()],
    }).compile();
    await expect(boot).rejects.toMatchObject({
      name: 'RateLimitConfigError',
      code: 'SW_NAME_TAKEN',
      path: 'Twin.find @RateLimit',
    });
  });
});
