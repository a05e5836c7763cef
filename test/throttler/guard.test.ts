import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, type ExecutionContext, Get } from '@nestjs/common';
import { SkipThrottle, Throttle, type ThrottlerOptions } from '@nestjs/throttler';
import type { SlidingWindowOptions } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { closeApps, storeOptions, type TestApp } from '../support/app.js';
import { freePort } from '../support/redis-server.js';
import { STORES } from '../support/services.js';
import { startThrottled } from './throttled-app.js';

@Controller()
class CatsController {
  @Get('cats')
  cats(): string {
    return 'Tom';
  }

  @Get('dogs')
  @Throttle({ default: { limit: 1 } })
  dogs(): string {
    return 'Rex';
  }

  @Get('birds')
  @SkipThrottle()
  birds(): string {
    return 'Tweety';
  }
}

const fieldsOf = ({ headers }: Response) =>
  Object.fromEntries([...headers].filter(([name]) => /^(x-ratelimit|retry-after)/.test(name)));

/** Numbers may come as text, from wherever they are kept. */
const limitOfPlan = (context: ExecutionContext) =>
  context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers[
    'x-user'
  ] as unknown as number;

afterEach(closeApps);

describe.each(STORES)("throttler's guard on the %s store", (store) => {
  const start = (throttlers: ThrottlerOptions[], options: SlidingWindowOptions = {}) =>
    startThrottled({ ...storeOptions(store), timeout: '10s', ...options }, throttlers, [
      CatsController,
    ]);

  async function driven(throttler: Partial<ThrottlerOptions>) {
    const clock = new ManualClock();
    const app = await start([{ limit: 2, ttl: 4000, ...throttler }], { clock });
    return { clock, app };
  }

  async function last(app: TestApp, path: string, count: number) {
    await app.statuses(count - 1, path);
    return app.request(path);
  }

  it('admits no more than the limit in a window that lies across an edge', async () => {
    const { clock, app } = await driven({ limit: 5, ttl: 1000, blockDuration: 0 });
    clock.advance(999);
    expect(await app.statuses(6, '/cats')).toEqual([200, 200, 200, 200, 200, 429]);
    clock.advance(1);
    expect(await app.statuses(1, '/cats')).toEqual([429]);
    clock.advance(998);
    expect(await app.statuses(1, '/cats')).toEqual([429]);
    clock.advance(1);
    expect(await app.statuses(6, '/cats')).toEqual([200, 200, 200, 200, 200, 429]);
  });

  it('frees units one by one, as they leave the window', async () => {
    const { clock, app } = await driven({ blockDuration: 0 });
    await app.statuses(1, '/cats');
    clock.advance(1000);
    expect(await app.statuses(2, '/cats')).toEqual([200, 429]);
    clock.advance(3000);
    expect(await app.statuses(2, '/cats')).toEqual([200, 429]);
    clock.advance(1000);
    expect(await app.statuses(2, '/cats')).toEqual([200, 429]);
  });

  it('sends the fields of throttler, in whole seconds', async () => {
    const { clock, app } = await driven({ blockDuration: 0 });
    expect(fieldsOf(await app.request('/cats'))).toEqual({
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '1',
      'x-ratelimit-reset': '4',
    });
    clock.advance(500);
    expect(fieldsOf(await app.request('/cats'))).toMatchObject({
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': '4',
    });
    clock.advance(1);
    // 3499 ms until the first leaves the window.
    expect(fieldsOf(await app.request('/cats'))).toEqual({ 'retry-after': '4' });
    clock.advance(500);
    expect(fieldsOf(await app.request('/cats'))).toEqual({ 'retry-after': '3' });
  });

  describe('blockDuration', () => {
    it('absent keeps a client out for the ttl after its denial', async () => {
      const { clock, app } = await driven({});
      await app.statuses(2, '/cats');
      clock.advance(3000);
      expect(fieldsOf(await app.request('/cats'))).toEqual({ 'retry-after': '4' });
      clock.advance(3999);
      expect(await app.statuses(1, '/cats')).toEqual([429]);
      clock.advance(1);
      expect(await app.statuses(3, '/cats')).toEqual([200, 200, 429]);
    });

    it('above the ttl keeps a client out for longer than its window', async () => {
      const { clock, app } = await driven({ blockDuration: 10_000 });
      expect(fieldsOf(await last(app, '/cats', 3))).toEqual({ 'retry-after': '10' });
      clock.advance(9999);
      expect(await app.statuses(1, '/cats')).toEqual([429]);
      clock.advance(1);
      expect(await app.statuses(3, '/cats')).toEqual([200, 200, 429]);
    });

    it('below the ttl never admits more than the limit in a window', async () => {
      const { clock, app } = await driven({ blockDuration: 500 });
      let admitted = 0;
      for (let at = 0; at < 4000; at += 100) {
        if ((await app.request('/cats')).status === 200) admitted++;
        clock.advance(100);
      }
      expect(admitted).toBe(2);
    });

    it('below the ttl tells when the window has room', async () => {
      const { clock, app } = await driven({ blockDuration: 500 });
      expect(fieldsOf(await last(app, '/cats', 3))).toEqual({ 'retry-after': '4' });
      clock.advance(4000);
      expect(await app.statuses(3, '/cats')).toEqual([200, 200, 429]);
    });

    it('below the ttl still keeps a client out when the window has room', async () => {
      const { clock, app } = await driven({ blockDuration: 500 });
      await app.statuses(2, '/cats');
      clock.advance(3900);
      expect(fieldsOf(await app.request('/cats'))).toEqual({ 'retry-after': '1' });
      clock.advance(499);
      expect(await app.statuses(1, '/cats')).toEqual([429]);
      clock.advance(1);
      expect(await app.statuses(1, '/cats')).toEqual([200]);
    });

    it.each([0, -1])('%s keeps nobody out', async (blockDuration) => {
      const { clock, app } = await driven({ blockDuration });
      await app.statuses(2, '/cats');
      clock.advance(3999);
      expect(fieldsOf(await app.request('/cats'))).toEqual({ 'retry-after': '1' });
      clock.advance(1);
      expect(await app.statuses(3, '/cats')).toEqual([200, 200, 429]);
    });

    it('ends no block and extends none by asking again', async () => {
      const { clock, app } = await driven({});
      await app.statuses(3, '/cats');
      clock.advance(2000);
      expect(fieldsOf(await app.request('/cats'))).toEqual({ 'retry-after': '2' });
    });
  });

  it('counts each throttler, handler and client on its own', async () => {
    const app = await start([
      { name: 'short', limit: 1, ttl: 1000 },
      { name: 'long', limit: 2, ttl: 60_000 },
    ]);
    const first = await app.request('/cats', { ip: '192.0.2.1' });
    expect(fieldsOf(first)).toMatchObject({
      'x-ratelimit-remaining-short': '0',
      'x-ratelimit-remaining-long': '1',
    });
    expect(fieldsOf(await app.request('/cats', { ip: '192.0.2.1' }))).toMatchObject({
      'retry-after-short': '1',
    });
    expect(await app.statuses(1, '/cats', { ip: '192.0.2.2' })).toEqual([200]);
    expect(await app.statuses(1, '/dogs', { ip: '192.0.2.1' })).toEqual([200]);
  });

  it('follows @Throttle, @SkipThrottle and skipIf', async () => {
    const skipIf = (context: ExecutionContext) =>
      context.switchToHttp().getRequest<{ headers: object }>().headers['x-user' as never] ===
      'admin';
    const app = await start([{ limit: 2, ttl: 60_000, skipIf }]);
    expect(await app.statuses(3, '/cats')).toEqual([200, 200, 429]);
    expect(await app.statuses(1, '/cats', { user: 'admin' })).toEqual([200]);
    expect(await app.statuses(2, '/dogs')).toEqual([200, 429]);
    expect(await app.statuses(3, '/birds')).toEqual([200, 200, 200]);
  });

  it('takes a limit and a ttl that are computed for the request', async () => {
    const app = await start([{ limit: limitOfPlan, ttl: () => 60_000 / 7 }]);
    expect(await app.statuses(2, '/cats', { user: '1' })).toEqual([200, 429]);
    const other = { user: '2.9', ip: '192.0.2.3' };
    expect(await app.statuses(3, '/cats', other)).toEqual([200, 200, 429]);
  });

  it('denies every request where the limit is 0, and says when to ask again', async () => {
    const { app } = await driven({ limit: 0 });
    const denied = await app.request('/cats');
    expect(denied.status).toBe(429);
    expect(fieldsOf(denied)).toEqual({ 'retry-after': '4' });
  });

  it.each<Partial<ThrottlerOptions>>([{ ttl: 0 }, { limit: -1 }, { limit: Infinity }])(
    'answers 500 to %j, and limits nothing by it',
    async (wrong) => {
      const app = await start([{ limit: 1, ttl: 1000, ...wrong }]);
      expect(await app.statuses(2, '/cats')).toEqual([500, 500]);
    },
  );

  it('shares its store with the limits of this library and takes nothing from them', async () => {
    const app = await start([{ limit: 1, ttl: 60_000 }], {
      default: { type: 'ip', rules: '2/1m', name: 'throttler-default' },
    });
    // Refused by the throttler, the second has still passed the limit before it.
    expect(await app.statuses(3, '/cats')).toEqual([200, 429, 429]);
    const body = (await (await app.request('/cats')).json()) as { message: string };
    expect(body.message).toBe('Too Many Requests');
  });
});

it('answers 503 when nobody can count', async () => {
  const redis = `redis://127.0.0.1:${await freePort()}`;
  const app = await startThrottled(
    { redis, onStoreError: 'deny' },
    [{ limit: 1, ttl: 1000 }],
    [CatsController],
  );
  expect(await app.statuses(2, '/cats')).toEqual([503, 503]);
});
