import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  HttpException,
  Injectable,
  Post,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { parseList } from 'structured-headers';
import {
  type Decision,
  LimitType,
  RateLimit,
  RateLimiterService,
  RateLimitInfo,
  SkipRateLimit,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { closeApps, type Platform, startApp, storeOptions } from '../support/app.js';

/** Authenticates by a header, and refuses who has none. */
@Injectable()
class HeaderAuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context
      .switchToHttp()
      .getRequest<{ headers: Record<string, string>; user?: object }>();
    const user = request.headers['x-user'];
    if (user === undefined) throw new UnauthorizedException();
    request.user = { id: user };
    return true;
  }
}

@Controller('orders')
class OrdersController {
  @Get('ip')
  @RateLimit(LimitType.IP, { limit: 2, window: '1m' })
  ip(): string {
    return 'ok';
  }

  @Get('user')
  @UseGuards(HeaderAuthGuard)
  @RateLimit(LimitType.USER_ID, { limit: 2, window: '1m' })
  user(): string {
    return 'ok';
  }

  @Get('user-below')
  @RateLimit(LimitType.USER_ID, { limit: 2, window: '1m' })
  @UseGuards(HeaderAuthGuard)
  userBelow(): string {
    return 'ok';
  }

  @Get('anonymous')
  @RateLimit(LimitType.USER_ID, { limit: 2, window: '1m' })
  anonymous(): string {
    return 'ok';
  }

  @Get('global')
  @RateLimit('global', '2/m')
  global(): string {
    return 'ok';
  }

  @Get('custom')
  @RateLimit(
    (context) =>
      context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-user']!,
    '2/m',
  )
  custom(): string {
    return 'ok';
  }

  @Get('stacked')
  @RateLimit(LimitType.IP, '2/m', { name: 'stacked-ip' })
  @RateLimit(LimitType.GLOBAL, '3/m', { name: 'stacked-global' })
  stacked(): string {
    return 'ok';
  }

  @Get('phases')
  @UseGuards(HeaderAuthGuard)
  @RateLimit(LimitType.IP, '5/m', { name: 'phases-ip' })
  @RateLimit(LimitType.USER_ID, '1/m', { name: 'phases-user' })
  phases(): string {
    return 'ok';
  }

  @Get('named')
  @RateLimit('login')
  named(): string {
    return 'ok';
  }

  @Get('info')
  @RateLimit(LimitType.IP, '3/m')
  info(@RateLimitInfo() decision: Decision): unknown {
    return { remaining: decision.policies[0]!.rules[0]!.remaining };
  }

  @Get('cost')
  @RateLimit(LimitType.IP, '10/m', { cost: () => 4 })
  cost(): string {
    return 'ok';
  }

  @Get('skip-if')
  @RateLimit(LimitType.IP, '1/m', {
    skipIf: (context) =>
      context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-user'] ===
      'admin',
  })
  skipIf(): string {
    return 'ok';
  }

  @Get('dynamic')
  @RateLimit(LimitType.GLOBAL, (context) =>
    context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers['x-user'] ===
    'pro'
      ? '4/m'
      : '2/m',
  )
  dynamic(): string {
    return 'ok';
  }

  @Get('several')
  @RateLimit(
    LimitType.IP,
    [
      { limit: 2, window: '500ms' },
      { limit: 5, window: '1500ms' },
    ],
    { name: 'several' },
  )
  several(): string {
    return 'ok';
  }

  @Get('twice')
  @UseGuards(HeaderAuthGuard, HeaderAuthGuard)
  @RateLimit(LimitType.IP, '2/m', { name: 'twice' })
  twice(): string {
    return 'ok';
  }

  @Get('broken-subject')
  @RateLimit(() => {
    throw new TypeError('x is undefined');
  }, '2/m')
  brokenSubject(): string {
    return 'ok';
  }

  @Get('broken-rules')
  @RateLimit(LimitType.IP, () => ({ limit: Number.NaN, window: '1m' }))
  brokenRules(): string {
    return 'ok';
  }

  @Get('broken-cost')
  @RateLimit(LimitType.IP, '2/m', { cost: () => -1 })
  brokenCost(): string {
    return 'ok';
  }

  @Get('empty-subject')
  @RateLimit(() => '', '2/m')
  emptySubject(): string {
    return 'ok';
  }

  @Get('teapot-subject')
  @RateLimit(() => {
    throw new HttpException('no tenant', 418);
  }, '2/m')
  teapotSubject(): string {
    return 'ok';
  }

  @Get('deny-all')
  @RateLimit(LimitType.IP, { limit: 0, window: '1m' })
  denyAll(): string {
    return 'ok';
  }

  @Get('shadow')
  @RateLimit(LimitType.IP, '1/m', { shadow: true })
  shadow(@RateLimitInfo() decision: Decision): unknown {
    return { shadow: decision.shadow };
  }

  @Get('message')
  @RateLimit(LimitType.IP, '1/m', { message: (d) => `wait ${d.retryAfterMs} ms` })
  message(): string {
    return 'ok';
  }

  @Post('login')
  @UseGuards(HeaderAuthGuard)
  @RateLimit(LimitType.IP, '2/15m', { countWhen: 'failure' })
  login(): string {
    return 'ok';
  }
}

@Controller('class')
@RateLimit(LimitType.IP, '1/m')
class ClassController {
  @Get('a')
  a(): string {
    return 'ok';
  }

  @Get('b')
  b(): string {
    return 'ok';
  }

  @Get('own')
  @RateLimit(LimitType.IP, '2/m')
  own(): string {
    return 'ok';
  }

  @Get('skipped')
  @SkipRateLimit()
  skipped(): string {
    return 'ok';
  }
}

@Controller('plain')
class PlainController {
  @Get()
  get(): string {
    return 'ok';
  }
}

@Controller('skip-one')
@RateLimit(LimitType.IP, '1/m', { name: 'one' })
@RateLimit(LimitType.IP, '2/m', { name: 'two' })
class SkipOneController {
  @Get()
  @SkipRateLimit('one')
  get(): string {
    return 'ok';
  }
}

const controllers = [OrdersController, ClassController, PlainController, SkipOneController];
const policies = { login: { type: LimitType.IP, rules: '2/m' as const } };

const cases = (['express', 'fastify'] as Platform[]).flatMap((platform) =>
  (['memory', 'redis'] as const).map((store) => ({ platform, store })),
);

describe.each(cases)('limits over HTTP, $platform, $store', ({ platform, store }) => {
  const clock = new ManualClock();
  const start = (more = {}, rest = {}) =>
    startApp({
      options: { policies, clock, ...storeOptions(store), ...more },
      controllers,
      platform,
      ...rest,
    });
  afterEach(closeApps);

  it('counts an address', async () => {
    const app = await start();
    expect(await app.statuses(3, '/orders/ip', { ip: '1.2.3.4' })).toEqual([200, 200, 429]);
    expect(await app.statuses(1, '/orders/ip', { ip: '1.2.3.5' })).toEqual([200]);
  });

  it('counts the addresses of one IPv6 prefix, and all spellings of one address, together', async () => {
    const app = await start();
    const ask = (ip: string) => app.statuses(1, '/orders/ip', { ip });
    expect(await ask('2001:db8::1')).toEqual([200]);
    expect(await ask('2001:DB8:0:0:ffff::1')).toEqual([200]);
    expect(await ask('2001:db8:0:1::')).toEqual([429]);
    expect(await ask('9.9.9.9')).toEqual([200]);
    expect(await ask('::ffff:9.9.9.9')).toEqual([200]);
    expect(await ask('::ffff:909:909')).toEqual([429]);
    expect(await ask('junk')).toEqual([200]);
    expect(await ask('9'.repeat(3000))).toEqual([200]);
    expect(await ask('other junk')).toEqual([429]);
  });

  it.each(['/orders/user', '/orders/user-below'])(
    'counts a user after authentication, wherever the decorators stand: %s',
    async (path) => {
      const app = await start();
      expect(await app.statuses(3, path, { user: 'ann' })).toEqual([200, 200, 429]);
      expect(await app.statuses(1, path, { user: 'bob' })).toEqual([200]);
      expect(await app.statuses(1, path)).toEqual([401]);
    },
  );

  it('counts the address where there is no user', async () => {
    const app = await start();
    expect(await app.statuses(3, '/orders/anonymous', { ip: '1.1.1.1' })).toEqual([200, 200, 429]);
    expect(await app.statuses(1, '/orders/anonymous', { ip: '1.1.1.2' })).toEqual([200]);
  });

  it('counts everybody together', async () => {
    const app = await start();
    expect(await app.statuses(2, '/orders/global', { ip: '1.1.1.1' })).toEqual([200, 200]);
    expect(await app.statuses(1, '/orders/global', { ip: '1.1.1.2' })).toEqual([429]);
  });

  it('counts what a function names, and the address where it names nobody', async () => {
    const app = await start();
    expect(await app.statuses(3, '/orders/custom', { user: 'a' })).toEqual([200, 200, 429]);
    expect(await app.statuses(1, '/orders/custom', { user: 'b' })).toEqual([200]);
    expect(await app.statuses(3, '/orders/empty-subject')).toEqual([200, 200, 429]);
  });

  it('applies stacked policies as one decision: a denial by one charges none', async () => {
    const app = await start();
    expect(await app.statuses(4, '/orders/stacked', { ip: '1.1.1.1' })).toEqual([
      200, 200, 429, 429,
    ]);
    expect(await app.statuses(2, '/orders/stacked', { ip: '1.1.1.2' })).toEqual([200, 429]);
  });

  it('gives back what the first guard charged when the second denies', async () => {
    const app = await start();
    const ask = (user: string) => app.statuses(1, '/orders/phases', { user, ip: '7.7.7.7' });
    expect(await ask('a')).toEqual([200]);
    for (let i = 0; i < 6; i++) expect(await ask('a')).toEqual([429]);
    for (const user of ['b', 'c', 'd', 'e']) expect(await ask(user)).toEqual([200]);
    expect(await ask('f')).toEqual([429]);
  });

  it('counts requests that a route guard refuses', async () => {
    const app = await start();
    const failed = await app.statuses(2, '/orders/twice', { ip: '3.3.3.3' });
    expect(failed).toEqual([401, 401]);
    expect(await app.statuses(1, '/orders/twice', { ip: '3.3.3.3' })).toEqual([429]);
  });

  it('counts requests that an APP_GUARD of the application refuses', async () => {
    const app = await start({}, { providers: [{ provide: APP_GUARD, useClass: HeaderAuthGuard }] });
    expect(await app.statuses(3, '/orders/ip', { ip: '4.4.4.4' })).toEqual([401, 401, 429]);
    expect(await app.statuses(3, '/orders/user', { user: 'z' })).toEqual([200, 200, 429]);
  });

  it('shares the budget of a named policy with the service', async () => {
    const app = await start();
    const limiter = app.get(RateLimiterService);
    await limiter.consume('login', '5.5.5.5');
    expect(await app.statuses(2, '/orders/named', { ip: '5.5.5.5' })).toEqual([200, 429]);
    await limiter.reset('login', '::ffff:5.5.5.5');
    expect(await app.statuses(1, '/orders/named', { ip: '5.5.5.5' })).toEqual([200]);
    await limiter.block('login', '5.5.5.5', '1h');
    expect(await app.statuses(1, '/orders/named', { ip: '5.5.5.5' })).toEqual([429]);
    await limiter.unblock('login', '5.5.5.5');
    expect(await app.statuses(1, '/orders/named', { ip: '5.5.5.5' })).toEqual([200]);
  });

  it('gives each handler of a limited controller a budget of its own', async () => {
    const app = await start();
    expect(await app.statuses(2, '/class/a')).toEqual([200, 429]);
    expect(await app.statuses(2, '/class/b')).toEqual([200, 429]);
  });

  it("lets a handler's own policies replace its controller's, and a skip lift them", async () => {
    const app = await start();
    expect(await app.statuses(3, '/class/own')).toEqual([200, 200, 429]);
    expect(await app.statuses(5, '/class/skipped')).toEqual([200, 200, 200, 200, 200]);
    expect(await app.statuses(3, '/skip-one')).toEqual([200, 200, 429]);
  });

  it.each([LimitType.IP, LimitType.USER_ID])(
    "applies the module's default of type %s where a handler has nothing of its own",
    async (type) => {
      const app = await start({ default: { type, rules: '1/m' } });
      expect(await app.statuses(2, '/plain')).toEqual([200, 429]);
      expect(await app.statuses(3, '/orders/ip')).toEqual([200, 200, 429]);
      expect(await app.statuses(2, '/class/skipped')).toEqual([200, 200]);
    },
  );

  it('applies every policy once when no global guard is registered', async () => {
    const app = await start({ globalGuard: false, default: { type: 'ip', rules: '1/m' } });
    expect(await app.statuses(3, '/orders/ip')).toEqual([200, 200, 429]);
    expect(await app.statuses(2, '/plain')).toEqual([200, 429]);
    expect(await app.statuses(4, '/orders/stacked')).toEqual([200, 200, 429, 429]);
  });

  it('hands the decision to the handler', async () => {
    const app = await start();
    expect(await (await app.request('/orders/info')).json()).toEqual({ remaining: 2 });
  });

  it('takes the cost, the rules and the exemption from the request', async () => {
    const app = await start();
    expect(await app.statuses(3, '/orders/cost')).toEqual([200, 200, 429]);
    expect(await app.statuses(3, '/orders/skip-if', { user: 'admin' })).toEqual([200, 200, 200]);
    expect(await app.statuses(2, '/orders/skip-if')).toEqual([200, 429]);
    expect(await app.statuses(3, '/orders/dynamic')).toEqual([200, 200, 429]);
    expect(await app.statuses(3, '/orders/dynamic', { user: 'pro' })).toEqual([200, 200, 429]);
  });

  it('tells a denied client when to come back, and keeps that promise', async () => {
    const app = await start();
    await app.statuses(1, '/orders/ip');
    clock.advance('10s');
    await app.statuses(1, '/orders/ip');
    const denied = await app.request('/orders/ip');
    expect(denied.status).toBe(429);
    expect(denied.headers.get('retry-after')).toBe('50');
    expect(await denied.json()).toMatchObject({ statusCode: 429, message: 'Too Many Requests' });
    clock.advance('49s');
    expect(await app.statuses(1, '/orders/ip')).toEqual([429]);
    clock.advance('1s');
    expect(await app.statuses(1, '/orders/ip')).toEqual([200]);
  });

  it('sends no Retry-After where waiting does not help', async () => {
    const app = await start();
    const denied = await app.request('/orders/deny-all');
    expect(denied.status).toBe(429);
    expect(denied.headers.has('retry-after')).toBe(false);
  });

  it('sends structured header fields over all rules, allowed and denied', async () => {
    const app = await start();
    const allowed = await app.request('/orders/several');
    expect(allowed.headers.get('ratelimit-policy')).toBe(
      '"several-500ms";q=2;w=1, "several-1500ms";q=5;w=2',
    );
    expect(allowed.headers.get('ratelimit')).toBe(
      '"several-500ms";r=1;t=1, "several-1500ms";r=4;t=2',
    );
    await app.request('/orders/several');
    const denied = await app.request('/orders/several');
    expect(denied.headers.get('ratelimit')).toBe(
      '"several-500ms";r=0;t=1, "several-1500ms";r=3;t=1',
    );
    expect(denied.headers.get('retry-after')).toBe('1');
    expect(parseList(denied.headers.get('ratelimit')!)).toHaveLength(2);
  });

  it.each([
    ['legacy', ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']],
    ['both', ['x-ratelimit-limit', 'ratelimit', 'ratelimit-policy']],
  ] as const)('sends the fields of headers: %s', async (headers, names) => {
    const app = await start({ headers });
    const response = await app.request('/orders/ip');
    for (const name of names) expect(response.headers.get(name)).not.toBeNull();
  });

  it('sends none but Retry-After with headers: false', async () => {
    const app = await start({ headers: false });
    await app.statuses(2, '/orders/ip');
    const denied = await app.request('/orders/ip');
    expect(denied.headers.has('ratelimit')).toBe(false);
    expect(denied.headers.get('retry-after')).toBe('60');
  });

  it('answers problem details when asked to', async () => {
    const app = await start({ problemDetails: true });
    await app.statuses(2, '/orders/ip');
    const denied = await app.request('/orders/ip');
    expect(denied.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await denied.json()).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Too Many Requests',
      status: 429,
      detail: 'Rate limit exceeded, retry in 60 s',
      'violated-policies': ['OrdersController-ip'],
    });
  });

  it('answers with the message of the policy', async () => {
    const app = await start();
    await app.request('/orders/message');
    const denied = await app.request('/orders/message');
    expect(await denied.json()).toMatchObject({ message: 'wait 60000 ms' });
  });

  it('never lets a request through, and never answers 500, when a function of the user fails', async () => {
    const app = await start();
    for (const path of ['broken-subject', 'broken-rules', 'broken-cost']) {
      const response = await app.request(`/orders/${path}`);
      expect(response.status).toBe(503);
      expect(response.headers.get('retry-after')).toBe('1');
    }
    expect(await app.statuses(1, '/orders/teapot-subject')).toEqual([418]);
  });

  it('reports what a shadow policy would have done, and denies nothing', async () => {
    const app = await start();
    const answers: unknown[] = [];
    for (let i = 0; i < 3; i++) answers.push(await (await app.request('/orders/shadow')).json());
    expect(answers).toEqual([{ shadow: false }, { shadow: true }, { shadow: true }]);
  });

  it('counts failures alone with countWhen: failure', async () => {
    const app = await start();
    const login = async (user?: string) =>
      (await app.request('/orders/login', { user, method: 'POST', ip: '8.8.8.8' })).status;
    for (let i = 0; i < 4; i++) {
      expect(await login('ann')).toBe(201);
      // The refund follows the response.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(await login()).toBe(401);
    expect(await login()).toBe(401);
    expect(await login('ann')).toBe(429);
  });
});
