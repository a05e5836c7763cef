import { describe, expect, it } from '@jest/globals';
import { Controller, Get, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { configError } from '../../lib/errors.js';
import {
  type ConfigErrorCode,
  CountEvent,
  type Duration,
  LimitType,
  OnThreshold,
  type PolicyDefinition,
  RateLimit,
  RateLimitConfigError,
  RateLimiterService,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import { read, sectionsOf } from './pages.js';

const CODES = [
  .../export type ConfigErrorCode =([^;]*);/.exec(read('lib/errors.ts'))![1]!.matchAll(/'(\w+)'/g),
].map((match) => match[1] as ConfigErrorCode);

const sections = sectionsOf('docs/errors.md');

async function boot(options: SlidingWindowOptions = {}, controllers: Type[] = []) {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options)],
    controllers,
  }).compile();
  return module.get(RateLimiterService);
}

async function failureOf(act: () => Promise<unknown>): Promise<RateLimitConfigError> {
  const failure = await act().then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(RateLimitConfigError);
  return failure as RateLimitConfigError;
}

const consume = (policy: PolicyDefinition) =>
  failureOf(async () => (await boot()).consume(policy, 'user-1'));

/** Alerts are looked at when all instances are there. */
async function start(providers: Type[]): Promise<void> {
  const imports = [SlidingWindowModule.forRoot()];
  await (await Test.createTestingModule({ imports, providers }).compile()).init();
}

/** A class of that name whose method counts. */
function counting(name: string, method: string, window: Duration): Type {
  const { [name]: type } = { [name]: class {} };
  const by = (email: string) => email;
  const decorate = CountEvent('login-failed', { by, window, threshold: 5, clear: true });
  const descriptor = { value: () => undefined, configurable: true };
  decorate(type!.prototype, method, descriptor);
  Object.defineProperty(type!.prototype, method, descriptor);
  return type!;
}

/** The examples of the page, made again; and what cannot be made here, from its factory. */
const EXAMPLES: Partial<
  Record<ConfigErrorCode, () => RateLimitConfigError | Promise<RateLimitConfigError>>
> = {
  SW_BAD_VALUE: () => consume({ name: 'like', rules: [{ limit: -1, window: '1m' }] }),
  SW_UNKNOWN_OPTION: () =>
    failureOf(() => boot({ keyprefix: 'shop' } as unknown as SlidingWindowOptions)),
  SW_UNKNOWN_POLICY: () => {
    @Controller()
    class SessionController {
      @Get()
      @RateLimit('logon')
      create() {}
    }
    const policies = { login: { type: LimitType.IP, rules: '5/15m' } } as const;
    return failureOf(() => boot({ policies }, [SessionController]));
  },
  SW_NAME_TAKEN: () => {
    @Controller()
    class OrdersController {
      @Get('create')
      @RateLimit(LimitType.IP, '10/s')
      create() {}

      @Get('update')
      @RateLimit(LimitType.IP, '10/s', { name: 'OrdersController-create' })
      update() {}
    }
    return failureOf(() => boot({}, [OrdersController]));
  },
  SW_RULES_DIFFER: () => {
    @Controller()
    class OrdersController {
      @Get('create')
      @RateLimit(LimitType.IP, '10/s', { name: 'orders' })
      create() {}

      @Get('update')
      @RateLimit(LimitType.IP, '20/s', { name: 'orders' })
      update() {}
    }
    return failureOf(() => boot({}, [OrdersController]));
  },
  SW_LONGER_WINDOW_LOWER_LIMIT: () => consume({ name: 'search', rules: ['100/1s', '10/1m'] }),
  SW_LOG_TOO_LONG: () => consume({ name: 'export', rules: '1000000/1d' }),
  SW_MISSING_FILE: () => configError.missingFile('<path of the file>', '<reason>'),
  SW_MISSING_PACKAGE: () => configError.missingPackage('ioredis', 'for the option `redis`'),
  SW_SELF_CHECK: () =>
    configError.selfCheckFailed([
      'it refuses scripts (EVAL): allow the commands that docs/reliability.md lists',
    ]),
  SW_NOT_LEASABLE: () =>
    failureOf(() =>
      boot({
        policies: {
          upload: {
            type: LimitType.GLOBAL,
            rules: { algorithm: 'token-bucket', limit: 20, refill: 5, window: '1s' },
            lease: { size: 5, ttl: '1s' },
          },
        },
      }),
    ),
  SW_UNKNOWN_CONTEXT: () => configError.unknownContext('rmq'),
  SW_UNKNOWN_EVENT: () => {
    class LoginAlerts {
      @OnThreshold('log-in-failed')
      warn() {}
    }
    return failureOf(() => start([counting('LoginService', 'login', '5m'), LoginAlerts]));
  },
  SW_EVENTS_DIFFER: () =>
    failureOf(() =>
      start([counting('LoginService', 'login', '5m'), counting('TokenService', 'refresh', '1h')]),
    ),
};

describe('docs/errors.md', () => {
  it('has a section for each code, and for nothing else', () => {
    expect(CODES.length).toBeGreaterThan(0);
    expect([...sections.keys()]).toEqual(CODES);
  });

  it.each(CODES)('tells what is said for %s', async (code) => {
    const error = await EXAMPLES[code]?.();
    if (error === undefined) return;
    expect(error.code).toBe(code);
    expect(sections.get(code)).toContain(`\n${error.message}\n`);
  });
});
