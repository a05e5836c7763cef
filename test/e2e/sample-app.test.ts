import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { firstValueFrom } from 'rxjs';
import { RateLimiterService } from '../../lib/index.js';
import { driveTime, type ManualClock } from '../../lib/testing/index.js';
import { AppModule, slidingWindowOptions } from '../../sample-app/app.module.js';
import { LoginAlerts } from '../../sample-app/login-alerts.js';

interface Answer {
  status: number;
  headers: Headers;
  body: unknown;
}

type Send = (init?: RequestInit) => Promise<Answer>;

const redisUrl = process.env.REDIS_URL!;

describe.each(['in-process', 'Redis'])('the sample app on the %s store', (store) => {
  let app: NestExpressApplication;
  let clock: ManualClock;
  let base: string;

  beforeEach(async () => {
    const redis = new Redis(process.env.REDIS_ADMIN_URL!);
    await redis.flushdb();
    redis.disconnect();

    if (store === 'in-process') delete process.env.REDIS_URL;
    const builder = Test.createTestingModule({ imports: [AppModule] });
    // All as the sample says, save that time moves when the test says so.
    ({ clock } = driveTime(builder, slidingWindowOptions()));
    const module = await builder.compile();
    app = module.createNestApplication<NestExpressApplication>({ logger: ['error', 'fatal'] });
    // So that a test can come from several addresses.
    app.set('trust proxy', true);
    await app.listen(0, '127.0.0.1');
    base = await app.getUrl();
  });

  afterEach(async () => {
    process.env.REDIS_URL = redisUrl;
    await app.close();
  });

  async function send(path: string, init?: RequestInit): Promise<Answer> {
    const response = await fetch(base + path, init);
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const { status, headers } = response;
    return { status, headers, body: isJson ? (JSON.parse(text) as unknown) : text };
  }

  const get =
    (path: string): Send =>
    (init) =>
      send(path, init);

  const login = (password: unknown, from = '192.0.2.1') =>
    send('/login', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
      body: JSON.stringify({ password }),
    });

  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
  const named = (header: string, value: string) => ({ headers: { [header]: value } });

  /** Sends until one is denied; the denial is one that a client can act on. */
  async function expectLimit(limit: number, request: Send, init?: RequestInit): Promise<Answer> {
    for (let i = 1; i <= limit; i++) expect(await request(init)).toMatchObject({ status: 200 });
    const denied = await request(init);
    expect(denied.status).toBe(429);
    expect(denied.body).toMatchObject({ statusCode: 429 });
    expect(denied.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    return denied;
  }

  /** Denied a moment before what Retry-After says, allowed then. */
  async function expectTruthfulRetryAfter(denied: Answer, request: Send): Promise<void> {
    const seconds = Number(denied.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(1);
    clock.advance((seconds - 1) * 1000);
    expect((await request()).status).toBe(429);
    clock.advance('1s');
    expect((await request()).status).toBe(200);
  }

  it('starts with its own options on the store that REDIS_URL chooses', async () => {
    const module = await Test.createTestingModule({ imports: [AppModule] }).compile();
    await module.init();
    const { source } = await module.get(RateLimiterService).consume('search', '192.0.2.1');
    await module.close();
    expect(source).toBe(store === 'Redis' ? 'redis' : 'memory');
  });

  it('shows its decisions to Prometheus, and its health to an operator', async () => {
    const scrape = async () => {
      const text = String((await send('/metrics')).body);
      const denials = text.matchAll(/AlgorithmsController-slidingLog",.*outcome="denied".* (\d+)/g);
      return [...denials].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const before = await scrape();
    for (let i = 0; i < 5; i++) await send('/algorithms/sliding-log');
    expect((await scrape()) - before).toBe(2);
    expect((await send('/health')).body).toMatchObject({
      status: 'ok',
      details: { limits: { status: 'up', store: store === 'Redis' ? 'redis' : 'memory' } },
    });
  });

  describe('the list of routes', () => {
    it('holds every route of the application, and each of them answers', async () => {
      const { status, body } = await send('/routes');
      expect(status).toBe(200);
      const listed = Object.keys(body as object);
      for (const route of listed) {
        const [method, path] = route.split(' ') as [string, string];
        const answer = await send(path, { method });
        // Login and the routes of a user refuse who does not say who it is.
        expect([200, 204, 401]).toContain(answer.status);
      }
      const { router } = app.getHttpAdapter().getInstance() as {
        router: { stack: { route?: { path: string } }[] };
      };
      // What the live page is made of is not for curl.
      const routes = router.stack.filter(({ route }) => route && !/^\/live/.test(route.path));
      expect(listed).toHaveLength(routes.length);
    });
  });

  describe('event counters', () => {
    it('answers calculateCount with the number of events in the window', async () => {
      const count = get('/api/sl/calculateCount?bizCodeKey=001&windowSeconds=10');
      expect((await count()).body).toBe(1);
      clock.advance('5s');
      expect((await count()).body).toBe(2);
      clock.advance('5s');
      expect((await count()).body).toBe(2);
    });

    it('counts each key by itself, whatever it holds', async () => {
      const keys = ['001', '{001}', '001:x', '0\0', 'a\r\nb', '__proto__', 'ключ', ' ', '*'];
      for (const key of keys) {
        const path = `/api/sl/calculateCount?bizCodeKey=${encodeURIComponent(key)}&windowSeconds=10`;
        expect((await send(path)).body).toBe(1);
        expect((await send(path)).body).toBe(2);
      }
    });

    it('counts a key of 16 KiB where the server takes a URL as long', async () => {
      // Node refuses more than 16 KiB of URL and header fields with 431 unless told otherwise.
      Object.assign(app.getHttpServer(), { maxHeaderSize: 64 * 1024 });
      const key = 'k'.repeat(16 * 1024);
      const count = get(`/api/sl/calculateCount?bizCodeKey=${key}&windowSeconds=10`);
      expect((await count()).body).toBe(1);
      expect((await count()).body).toBe(2);
    });

    it('answers keepCalculate with true from the threshold on', async () => {
      const keep = get('/api/sl/keepCalculate?bizCodeKey=001&windowSeconds=3&threshold=3');
      const answers: unknown[] = [];
      for (let i = 0; i < 5; i++) answers.push((await keep()).body);
      expect(answers).toEqual([false, false, true, true, true]);
    });

    it('answers clearOnCondition with true at the threshold, and starts anew', async () => {
      const clear = get('/api/sl/clearOnCondition?bizCodeKey=001&windowSeconds=3&threshold=3');
      const answers: unknown[] = [];
      for (let i = 0; i < 7; i++) answers.push((await clear()).body);
      expect(answers).toEqual([false, false, true, false, false, true, false]);
    });

    it('forgets the events that have left the window before it compares', async () => {
      const keep = get('/api/sl/keepCalculate?bizCodeKey=001&windowSeconds=3&threshold=2');
      expect((await keep()).body).toBe(false);
      clock.advance('3s');
      expect((await keep()).body).toBe(false);
      expect((await keep()).body).toBe(true);
    });

    it('sends its bare values as JSON', async () => {
      const { headers } = await send('/api/sl/calculateCount?bizCodeKey=001&windowSeconds=10');
      expect(headers.get('content-type')).toMatch(/^application\/json/);
    });

    const BAD_NUMBERS = [
      ['empty', '', '""'],
      ['NaN', 'NaN', '"NaN"'],
      ['Infinity', 'Infinity', '"Infinity"'],
      ['negative', '-1', '"-1"'],
      ['zero', '0', '"0"'],
      ['fractional', '1.5', '"1.5"'],
      ['exponential', '1e3', '"1e3"'],
      ['hexadecimal', '0x10', '"0x10"'],
      ['surrounded by spaces', '%205%20', '" 5 "'],
      ['with other digits', '%D9%A3', '"٣"'],
      ['too large', '99999999999999999999', '"99999999999999999999"'],
      ['endless', '9'.repeat(4000), `"${'9'.repeat(59)}…`],
    ] as const;

    const NUMBERS = [
      ['windowSeconds', 31_536_000, 'calculateCount?bizCodeKey=1&windowSeconds='],
      ['windowSeconds', 31_536_000, 'keepCalculate?bizCodeKey=1&threshold=5&windowSeconds='],
      ['threshold', 1_000_000, 'keepCalculate?bizCodeKey=1&windowSeconds=3&threshold='],
      ['threshold', 1_000_000, 'clearOnCondition?bizCodeKey=1&windowSeconds=3&threshold='],
    ] as const;

    it.each(BAD_NUMBERS)('refuses a number that is %s, and says why', async (_, text, shown) => {
      for (const [name, most, path] of NUMBERS) {
        const message = `${name}: ${shown} is not accepted; use an integer from 1 to ${most}`;
        expect(await send(`/api/sl/${path}${text}`)).toMatchObject({
          status: 400,
          body: { message },
        });
      }
    });

    it('refuses a parameter that is missing, empty or given twice, and names it', async () => {
      const refusals = {
        'windowSeconds=3&threshold=5': 'bizCodeKey: is missing; use one text that is not empty',
        'bizCodeKey=&windowSeconds=3&threshold=5':
          'bizCodeKey: "" is not accepted; use one text that is not empty',
        'bizCodeKey=1&bizCodeKey=2&windowSeconds=3&threshold=5':
          'bizCodeKey: ["1","2"] is not accepted; use one text that is not empty',
        'bizCodeKey=1&threshold=5': 'windowSeconds: is missing; use an integer from 1 to 31536000',
        'bizCodeKey=1&windowSeconds=3&threshold=5&threshold=6':
          'threshold: ["5","6"] is not accepted; use an integer from 1 to 1000000',
      };
      for (const [query, message] of Object.entries(refusals)) {
        expect(await send(`/api/sl/keepCalculate?${query}`)).toMatchObject({
          status: 400,
          body: { message },
        });
      }
    });

    it('takes the longest window and the highest threshold', async () => {
      const path = `/api/sl/keepCalculate?bizCodeKey=1&windowSeconds=31536000&threshold=1000000`;
      expect(await send(path)).toMatchObject({ status: 200, body: false });
    });
  });

  describe('slices', () => {
    const increment = (query = '') => send(`/slices/calls/increment${query}`, { method: 'POST' });

    it('answers with the present slice and the whole window', async () => {
      expect((await increment()).body).toEqual({ slice: 1, window: 1 });
      expect((await increment('?by=4')).body).toEqual({ slice: 5, window: 5 });
      clock.advance('10s');
      expect((await increment()).body).toEqual({ slice: 1, window: 6 });
      expect((await send('/slices/calls/windowSum')).body).toBe(6);
      expect((await send('/slices/calls/sliceValue')).body).toBe(1);
      expect((await send('/slices/calls/timeline')).body).toEqual([0, 0, 0, 0, 0, 5, 1]);
    });

    it('forgets what has left the window, and all of it on DELETE', async () => {
      await increment('?by=3');
      clock.advance('70s');
      expect((await send('/slices/calls/windowSum')).body).toBe(0);
      await increment();
      expect((await send('/slices/calls', { method: 'DELETE' })).status).toBe(204);
      expect((await send('/slices/calls/windowSum')).body).toBe(0);
    });

    it('refuses to add what is no positive integer', async () => {
      for (const by of ['', '0', '-1', '1.5', 'x', '1e3']) {
        const message = `by: "${by}" is not accepted; use an integer from 1 to 1000000`;
        expect(await increment(`?by=${by}`)).toMatchObject({ status: 400, body: { message } });
      }
    });

    it('answers 400, not 500, to a path that is no UTF-8', async () => {
      expect((await send('/slices/%E0%A4%A/windowSum')).status).toBe(400);
    });
  });

  describe('limit types', () => {
    it('counts each address by itself', async () => {
      const denied = await expectLimit(3, get('/limits/ip'), from('192.0.2.1'));
      expect(denied.headers.get('ratelimit')).toContain(';r=0');
      await expectLimit(3, get('/limits/ip'), from('192.0.2.2'));
      await expectTruthfulRetryAfter(denied, () => send('/limits/ip', from('192.0.2.1')));
    });

    it('counts each user by itself, at whatever address', async () => {
      const request = get('/limits/user');
      const as = (user: string, address: string) => ({
        headers: { 'x-demo-user': user, 'x-forwarded-for': address },
      });
      await expectLimit(3, request, as('ada', '192.0.2.1'));
      expect((await request(as('ada', '192.0.2.2'))).status).toBe(429);
      expect((await request(as('bob', '192.0.2.1'))).status).toBe(200);
    });

    it('counts everybody together', async () => {
      await expectLimit(3, get('/limits/global'), from('192.0.2.1'));
      expect((await send('/limits/global', from('192.0.2.2'))).status).toBe(429);
    });

    it('counts by a function of the request, and the address where it names nobody', async () => {
      await expectLimit(3, get('/limits/api-key'), named('x-api-key', 'one'));
      await expectLimit(3, get('/limits/api-key'), named('x-api-key', 'two'));
      await expectLimit(3, get('/limits/api-key'));
    });
  });

  describe('algorithms', () => {
    it.each(['sliding-log', 'fixed-window', 'sliding-counter', 'token-bucket'])(
      'denies by %s, and says truly when to come back',
      async (algorithm) => {
        const request = get(`/algorithms/${algorithm}`);
        await expectTruthfulRetryAfter(await expectLimit(3, request), request);
      },
    );
  });

  describe('policies', () => {
    it('holds to every one of several rules', async () => {
      const request = get('/policies/several-rules');
      expect((await expectLimit(3, request)).headers.get('retry-after')).toBe('10');
      clock.advance('10s');
      expect((await expectLimit(2, request)).headers.get('retry-after')).toBe('50');
    });

    it('applies a policy of the module by its name, with its message', async () => {
      expect(await expectLimit(3, get('/policies/named'))).toMatchObject({
        body: { message: 'Search less often' },
      });
    });

    it('applies stacked policies together, and charges neither when one denies', async () => {
      const request = get('/policies/stacked');
      await expectLimit(3, request, from('192.0.2.1'));
      const denied = await expectLimit(2, request, from('192.0.2.2'));
      expect(denied.headers.get('ratelimit-policy')).toContain('q=3');
      expect(denied.headers.get('ratelimit-policy')).toContain('q=5');
    });

    it('chooses the rules by the plan of the request', async () => {
      const request = get('/policies/by-plan');
      await expectLimit(3, request);
      await expectLimit(3, request, named('x-plan', 'pro'));
    });

    it('takes as many units as a request costs', async () => {
      const cost = (units: string) => send(`/policies/cost?units=${units}`);
      expect((await cost('4')).status).toBe(200);
      expect((await cost('4')).status).toBe(200);
      expect((await cost('4')).status).toBe(429);
      expect((await cost('2')).status).toBe(200);
      expect((await cost('1')).headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    });

    it('refuses a cost that is no integer the limit could ever hold', async () => {
      for (const query of [
        '',
        '?units=',
        '?units=0',
        '?units=11',
        '?units=x',
        '?units=1&units=2',
      ]) {
        const message = expect.stringMatching(/^units: .*; use an integer from 1 to 10$/);
        expect(await send(`/policies/cost${query}`)).toMatchObject({
          status: 400,
          body: { message },
        });
      }
    });

    it('hands the decision to the handler', async () => {
      const { body } = await send('/policies/info');
      expect(body).toMatchObject({
        allowed: true,
        policies: [
          {
            name: 'PoliciesController-info',
            rules: [{ limit: 3, windowMs: 10_000, remaining: 2 }],
          },
        ],
        retryAfterMs: null,
        violated: [],
      });
      await expectLimit(2, get('/policies/info'));
    });
  });

  describe('a limit on a whole controller', () => {
    it('holds for a handler without one of its own', async () => {
      await expectLimit(3, get('/whole/limited'));
    });

    it('is replaced by one of the handler', async () => {
      await expectLimit(5, get('/whole/own'));
    });

    it('is lifted by @SkipRateLimit', async () => {
      for (let i = 0; i < 10; i++) {
        const { status, headers } = await send('/whole/skipped');
        expect(status).toBe(200);
        expect(headers.get('ratelimit')).toBeNull();
      }
    });
  });

  describe('login', () => {
    /** What does not count is given back when the response has gone, so a moment after it. */
    async function untilFailuresLeft(left: number, address: string): Promise<void> {
      const limiter = app.get(RateLimiterService);
      const end = Date.now() + 5000;
      for (;;) {
        const { policies } = await limiter.peek('failed-logins', address);
        if (policies[0]!.rules[0]!.remaining === left) return;
        if (Date.now() > end) throw new Error(`never ${left} failures left`);
        await new Promise((resolve) => setImmediate(resolve));
      }
    }

    it('lets the right password in and refuses every other', async () => {
      expect(await login('secret')).toMatchObject({ status: 200, body: { welcome: true } });
      for (const [i, password] of ['wrong', '', 1, null, ['secret'], undefined].entries()) {
        expect((await login(password, `192.0.2.${i + 1}`)).status).toBe(401);
      }
      expect((await send('/login', { method: 'POST' })).status).toBe(401);
    });

    it('counts an address before authentication, so what that refuses counts too', async () => {
      for (let i = 1; i <= 10; i++) expect((await login('secret')).status).toBe(200);
      const denied = await login('secret');
      expect(denied.status).toBe(429);
      expect(denied.headers.get('retry-after')).toBe('10');
      expect((await login('secret', '192.0.2.2')).status).toBe(200);
    });

    it('locks an address after five failures, and a success does not count', async () => {
      for (let i = 1; i <= 4; i++) expect((await login('wrong')).status).toBe(401);
      await untilFailuresLeft(1, '192.0.2.1');
      for (let i = 1; i <= 3; i++) {
        expect((await login('secret')).status).toBe(200);
        await untilFailuresLeft(1, '192.0.2.1');
      }
      expect((await login('wrong')).status).toBe(401);

      const locked = await login('secret');
      expect(locked.status).toBe(429);
      expect(locked.headers.get('retry-after')).toBe('900');
      expect(locked.body).toMatchObject({ message: 'Too many failed logins from this address' });
      expect((await login('secret', '192.0.2.2')).status).toBe(200);
    });

    it('opens again when the lock has expired', async () => {
      for (let i = 1; i <= 5; i++) await login('wrong');
      expect((await login('secret')).status).toBe(429);
      clock.advance(15 * 60_000 - 1);
      expect((await login('secret')).status).toBe(429);
      clock.advance(1);
      expect((await login('secret')).status).toBe(200);
    });

    it('tells the log, and whoever watches, of the fifth failure of an address, once', async () => {
      const warn = jest.spyOn(Logger.prototype, 'warn').mockReturnValue();
      const alert = firstValueFrom(app.get(LoginAlerts).alerts$);
      for (let i = 1; i <= 4; i++) await login('wrong', '192.0.2.2');
      for (let i = 1; i <= 6; i++) await login('wrong');
      expect(await alert).toMatchObject({ key: '192.0.2.1', count: 5, window: '5m' });
      const told = warn.mock.calls.map(([text]) => String(text));
      warn.mockRestore();
      expect(told.filter((text) => text.includes('failed logins'))).toEqual([
        '5 failed logins from 192.0.2.1 within 5m',
      ]);
    });

    it('answers 400 to a body that is no JSON', async () => {
      const headers = { 'content-type': 'application/json' };
      const { status } = await send('/login', { method: 'POST', headers, body: '{' });
      expect(status).toBe(400);
    });

    it('counts a profile by its user, after authentication', async () => {
      for (let i = 1; i <= 5; i++) expect((await send('/profile')).status).toBe(401);
      await expectLimit(3, get('/profile'), named('x-demo-user', 'ada'));
      await expectLimit(3, get('/profile'), named('x-demo-user', 'bob'));
    });
  });
});
