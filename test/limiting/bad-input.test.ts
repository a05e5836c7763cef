import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, type Type } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import fc from 'fast-check';
import {
  LimitType,
  RateLimit,
  RateLimitConfigError,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import { boundText, encodeText, Keys } from '../../lib/stores/keys.js';
import { chargeOf, compilePolicy } from '../../lib/limiting/policies.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { openServices, type Services, STORES } from '../support/services.js';

/** How a message shows a value: on one line, short, and no content of objects. */
const shown = (value: unknown) =>
  typeof value === 'string'
    ? JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
    : typeof value === 'function'
      ? 'a function'
      : Array.isArray(value)
        ? 'an '
        : typeof value === 'object' && value !== null
          ? 'an object'
          : String(value);

const NOT_INTEGERS = [NaN, Infinity, -Infinity, 1.5, 2 ** 53, '5', '', null, true, {}, [], 5n];
const NOT_COUNTS = [...NOT_INTEGERS, -1];
const NOT_POSITIVE = [...NOT_COUNTS, 0];
const NOT_DURATIONS = [
  ...[0, -1, NaN, Infinity, -Infinity, 1.5, 365 * 86_400_000 + 1, 2 ** 53, null, true, {}, [], 5n],
  ...['', 's', '10', '-1s', '0s', '0.5ms', '366d', 'NaNs', 'Infinityd', '10 parsecs', '1s2s'],
  '1'.repeat(40) + 's',
];

/** The error of a call or a promise, which must be ours. */
async function errorOf(act: () => unknown): Promise<RateLimitConfigError> {
  let outcome: unknown;
  try {
    outcome = await act();
  } catch (error) {
    expect(error).toBeInstanceOf(RateLimitConfigError);
    return error as RateLimitConfigError;
  }
  throw new Error(`nothing was refused: ${JSON.stringify(outcome)}`);
}

/** A case: where the error is placed, and what is shown of the value. */
type Case = readonly [path: string, value: unknown, ...rest: unknown[]];
const cases = (path: string, values: readonly unknown[]): Case[] =>
  values.map((value) => [path, value] as const);
const titled = (list: readonly Case[]) =>
  list.map(([path, value]) => [path, shown(value).slice(0, 40), value] as const);

async function boot(options: unknown, ...controllers: Type[]) {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options as SlidingWindowOptions)],
    controllers,
  }).compile();
  await module.close();
}

describe('the options of the module', () => {
  it.each(
    titled([
      ...cases('keyPrefix', [5, '', 'a b', '{sw}', 'é', 'x'.repeat(65), 'a\0b', 'a\r\nb', null]),
      ...cases('ipv6Prefix', [...NOT_POSITIVE, 129]),
      ...cases('headers', ['all', true, 0, null]),
      ...cases('problemDetails', ['yes', 1, null]),
      ...cases('onStoreError', ['open', true, null]),
      ...cases('timeout', NOT_DURATIONS),
      ...cases('clock', ['server', 5, null, {}, { now: 5 }]),
      ...cases('shadow', ['true', 1, null]),
      ...cases('globalGuard', ['false', 0, null]),
      ...cases('getUserId', ['id', 5, {}]),
      ...cases('getIp', ['ip', {}]),
      ...cases('memory', [5, null, [], 'big']),
      ...cases('denyCache', [true, 5, null]),
      ...cases('policies', [5, [], 'login']),
      ...cases('redis', [5, [], null, true]),
    ]),
  )('%s: %s is refused', async (path, _, value) => {
    const error = await errorOf(() => boot({ [path]: value }));
    expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path });
    expect(error.message).toContain(shown(value));
  });

  it.each(
    titled([
      ...cases('memory.maxKeys', [...NOT_POSITIVE, 2 ** 24 + 1]),
      ...cases('denyCache.maxKeys', [...NOT_POSITIVE, 2 ** 24 + 1]),
      ...cases('denyCache.maxAge', NOT_DURATIONS),
    ]),
  )('%s: %s is refused', async (path, _, value) => {
    const [option, part] = path.split('.') as [string, string];
    const error = await errorOf(() => boot({ [option]: { [part]: value } }));
    expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path });
    expect(error.message).toContain(shown(value));
  });

  it.each([
    [{ redsi: 'redis://localhost' }, 'redsi'],
    [{ ['__proto__x']: 1 }, '__proto__x'],
    [{ constructor: 1 }, 'constructor'],
    [{ memory: { maxkeys: 5 } }, 'maxkeys'],
    [{ denyCache: { ttl: 5 } }, 'ttl'],
    [{ policies: { login: { type: 'ip', rules: '5/m', limit: 5 } } }, 'limit'],
  ])('an unknown option is refused: %j', async (options, key) => {
    const error = await errorOf(() => boot(options));
    expect(error.code).toBe('SW_UNKNOWN_OPTION');
    expect(error.message).toContain(JSON.stringify(key));
  });

  it('a URL of Redis that is none is refused without being shown', async () => {
    const error = await errorOf(() => boot({ redis: 'http://user:secret@localhost' }));
    expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path: 'redis' });
    expect(error.message).not.toContain('secret');
  });

  it.each(['a b', 'a{b', 'a:b', 'a|b', '', 'é', 'a\0b', 'x'.repeat(65)])(
    'a policy cannot be named %j',
    async (name) => {
      const error = await errorOf(() =>
        boot({ policies: { [name]: { type: 'ip', rules: '5/m' } } }),
      );
      expect(error.code).toBe('SW_BAD_VALUE');
      expect(error.message).toContain(shown(name));
    },
  );

  it('policies are checked whether they are used or not, and named in the error', async () => {
    const policies = { login: { type: 'ip', rules: { limit: NaN, window: '1m' } } };
    expect(await errorOf(() => boot({ policies }))).toMatchObject({
      code: 'SW_BAD_VALUE',
      path: 'policies.login rules.limit',
    });
  });

  it('undefined counts as absent', async () => {
    await boot({ keyPrefix: undefined, timeout: undefined, policies: undefined, redis: undefined });
  });
});

describe.each(STORES)('rules and arguments of the services, in the %s store', (store) => {
  const clock = new ManualClock();
  let services: Services;

  beforeAll(async () => {
    services = await openServices(store, { clock });
  });
  afterAll(() => services.close());

  const consumeBy = (rules: unknown) =>
    errorOf(() => services.limiter.consume({ name: 'bad', rules } as never, 'u'));
  const bucket = { algorithm: 'token-bucket', limit: 5, window: '1m' };
  const counter = { algorithm: 'sliding-counter', limit: 5, window: '1m' };

  it.each(
    titled([
      ...cases('limit', [...NOT_COUNTS, undefined]),
      ...cases('window', [...NOT_DURATIONS, undefined]),
    ]),
  )('a rule with %s %s is refused', async (part, _, value) => {
    for (const algorithm of ['sliding-log', 'fixed-window', 'sliding-counter', 'token-bucket']) {
      const rule = { algorithm, limit: 5, window: '1m', [part]: value };
      const error = await consumeBy([{ limit: 1, window: '1s' }, rule]);
      expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path: `policy "bad".rules[1].${part}` });
      expect(error.message).toContain(shown(value));
    }
  });

  it.each(
    titled([
      ...cases('slices', [...NOT_POSITIVE.filter((one) => one !== null), 3601]),
      ...cases(
        'refill',
        NOT_POSITIVE.filter((one) => one !== null),
      ),
    ]),
  )('a rule with %s %s is refused', async (part, _, value) => {
    const rule = part === 'slices' ? counter : bucket;
    const error = await consumeBy({ ...rule, [part]: value });
    expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path: `policy "bad".rules.${part}` });
    expect(error.message).toContain(shown(value));
  });

  it.each(
    ['leaky-bucket', '', 'SLIDING-LOG', '__proto__', 'constructor', 'toString', 5, {}].map(
      (algorithm) => [shown(algorithm), algorithm],
    ),
  )('an unknown algorithm is refused: %s', async (_, algorithm) => {
    const error = await consumeBy({ algorithm, limit: 5, window: '1m' });
    expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path: 'policy "bad".rules.algorithm' });
    expect(error.message).toContain(shown(algorithm));
    expect(error.message).toContain('sliding-log');
  });

  it.each([
    [{ limit: 5, window: '1m', max: 5 }, 'max'],
    [{ limit: 5, window: '1m', slices: 5 }, 'slices'],
    [{ ...bucket, slices: 5 }, 'slices'],
    [{ ...counter, refill: 5 }, 'refill'],
    [{ algorithm: 'fixed-window', limit: 5, window: '1m', refill: 5 }, 'refill'],
    [JSON.parse('{"limit": 5, "window": 5, "__proto__": 5}') as object, '__proto__'],
  ])('an option that the algorithm does not have is refused: %j', async (rule, key) => {
    const error = await consumeBy([rule]);
    expect(error.code).toBe('SW_UNKNOWN_OPTION');
    expect(error.path).toBe('policy "bad".rules');
    expect(error.message).toContain(JSON.stringify(key));
  });

  it.each([
    ...['', '/', '10', '10/', '/s', 'x/s', '-1/s', '1.5/s', '10/0s', '10/366d', '10/s/s', ' 10/s'],
    ...['10/NaNs', '10/parsec', '1e3/s', '99999999999999999/s', '9007199254740993/s', '0x5/s'],
  ])('a shorthand that is none is refused: %j', async (rule) => {
    expect((await consumeBy(rule)).code).toBe('SW_BAD_VALUE');
  });

  it.each([[], null, undefined, 5, [null], [[]], new Array(17).fill('5/s'), new Array(2)])(
    'rules that are none are refused: %j',
    async (rules) => {
      const error = await consumeBy(rules);
      expect(error.code).toBe('SW_BAD_VALUE');
      expect(error.path).toMatch(/^policy "bad"\.rules/);
    },
  );

  it('a longer window with a lower limit is refused', async () => {
    const error = await consumeBy([
      { limit: 100, window: '1s' },
      { limit: 10, window: '1m' },
    ]);
    expect(error).toMatchObject({
      code: 'SW_LONGER_WINDOW_LOWER_LIMIT',
      path: 'policy "bad".rules',
    });
    expect(error.message).toContain('limit: 10');
    const mixed = [
      { algorithm: 'fixed-window', limit: 100, window: '1s' },
      { algorithm: 'sliding-counter', limit: 10, window: '1m' },
    ];
    expect((await consumeBy(mixed)).code).toBe('SW_LONGER_WINDOW_LOWER_LIMIT');
  });

  it('a sliding log above 100 000 entries is refused, and sliding-counter suggested', async () => {
    const error = await consumeBy({ limit: 100_001, window: '1h' });
    expect(error).toMatchObject({ code: 'SW_LOG_TOO_LONG', path: 'policy "bad".rules.limit' });
    expect(error.message).toContain('100001');
    expect(error.message).toContain('sliding-counter');
    const { limiter } = services;
    const largest = { name: 'largest', rules: { limit: 100_000, window: '1h' } } as const;
    expect((await limiter.consume(largest, 'u')).allowed).toBe(true);
  });

  it.each([
    { ...bucket, limit: 2 ** 40, window: '365d' },
    { ...bucket, refill: 2 ** 40, window: '365d' },
  ])('a bucket beyond exact arithmetic is refused: %j', async (rule) => {
    expect((await consumeBy(rule)).code).toBe('SW_BAD_VALUE');
  });

  it.each([
    ['name', undefined],
    ['name', ''],
    ['name', 'a b'],
    ['name', '{a}'],
    ['name', 'a:b'],
    ['name', 'a|b'],
    ['name', 'x'.repeat(65)],
    ['name', 5],
    ['type', 'user'],
    ['type', '__proto__'],
    ['onStoreError', 'open'],
    ['shadow', 'yes'],
    ['blockFor', 0],
    ['blockFor', NaN],
    ['blockFor', '400d'],
  ])('a policy with %s %j is refused', async (part, value) => {
    const policy = { name: 'bad', rules: '5/m', [part]: value };
    const error = await errorOf(() => services.limiter.consume(policy as never, 'u'));
    expect(error.code).toBe('SW_BAD_VALUE');
    expect(error.path).toMatch(new RegExp(`\\.${part}$`));
    expect(error.message).toContain(shown(value));
  });

  it.each(['missing', '__proto__', 'constructor', 'toString', ''])(
    'an unknown policy is refused: %j',
    async (name) => {
      const error = await errorOf(() => services.limiter.consume(name, 'u'));
      expect(error.code).toBe('SW_UNKNOWN_POLICY');
      expect(error.message).toContain(JSON.stringify(name));
    },
  );

  it.each([null, undefined, 5, [], true])(
    'a policy that is none is refused: %j',
    async (policy) => {
      expect((await errorOf(() => services.limiter.consume(policy as never, 'u'))).code).toBe(
        'SW_BAD_VALUE',
      );
    },
  );

  const policy = { name: 'good', rules: '5/m' } as const;
  const bad = (value: unknown) => value as never;
  const NOT_TEXTS = ['', 5, null, undefined, {}, [], true];

  it.each(
    titled([
      ...cases('subject', NOT_TEXTS),
      ...cases(
        'cost',
        NOT_COUNTS.filter((one) => one !== undefined),
      ),
      ...cases('duration', NOT_DURATIONS),
      ...cases('maxWait', NOT_DURATIONS),
    ]),
  )('RateLimiterService refuses %s %s', async (argument, _, value) => {
    const { limiter } = services;
    const decision = await limiter.consume(policy, 'refused', { cost: 0 });
    const calls: Record<string, (() => unknown)[]> = {
      subject: [
        () => limiter.consume(policy, bad(value)),
        () => limiter.peek(policy, bad(value)),
        () => limiter.reset(policy, bad(value)),
        () => limiter.block(policy, bad(value), '1s'),
        () => limiter.unblock(policy, bad(value)),
        () => limiter.waitFor(policy, bad(value)),
      ],
      cost: [
        () => limiter.consume(policy, 'u', { cost: bad(value) }),
        () => limiter.waitFor(policy, 'u', { cost: bad(value) }),
        () => limiter.refund(decision, bad(value)),
      ],
      duration: [() => limiter.block(policy, 'u', bad(value))],
      maxWait: [() => limiter.waitFor(policy, 'u', { maxWait: bad(value) })],
    };
    for (const call of calls[argument]!) {
      const error = await errorOf(call);
      expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path: argument });
      expect(error.message).toContain(shown(value));
    }
  });

  it('RateLimiterService refuses unknown options, and decisions that are none of its own', async () => {
    const { limiter } = services;
    for (const call of [
      () => limiter.consume(policy, 'u', bad({ cots: 5 })),
      () => limiter.waitFor(policy, 'u', bad({ timeout: 5 })),
    ]) {
      expect((await errorOf(call)).code).toBe('SW_UNKNOWN_OPTION');
    }
    for (const decision of [null, undefined, 5, {}, { allowed: true, policies: [] }]) {
      expect((await errorOf(() => limiter.refund(bad(decision)))).path).toBe('decision');
    }
    const copy = JSON.parse(JSON.stringify(await limiter.consume(policy, 'copy'))) as unknown;
    expect((await errorOf(() => limiter.refund(bad(copy)))).path).toBe('decision');
  });

  it.each(
    titled([
      ...cases('key', NOT_TEXTS),
      ...cases(
        'event id',
        NOT_TEXTS.filter((one) => one !== undefined),
      ),
      ...cases('window', NOT_DURATIONS),
      ...cases('threshold', [...NOT_POSITIVE, undefined]),
      ...cases('buckets', [...NOT_POSITIVE, undefined, 1001]),
      ...cases('slice', NOT_DURATIONS),
      ...cases('by', NOT_POSITIVE),
    ]),
  )('SlidingWindowService refuses %s %s', async (argument, _, value) => {
    const { windows } = services;
    const calls: Record<string, (() => unknown)[]> = {
      key: [
        () => windows.calculateCount(bad(value), '1s'),
        () => windows.keepCalculate(bad(value), '1s', 5),
        () => windows.clearOnCondition(bad(value), '1s', 5),
        () => windows.count(bad(value), '1s'),
        () => windows.timeline(bad(value), '1s', 5),
        () => windows.remove(bad(value), 'id'),
        () => windows.clear(bad(value)),
        () => windows.sliced(bad(value), { slice: '1s', window: '1m' }),
      ],
      'event id': [
        () => windows.calculateCount('k', '1s', { id: bad(value) }),
        () => windows.keepCalculate('k', '1s', 5, { id: bad(value) }),
        () => windows.clearOnCondition('k', '1s', 5, { id: bad(value) }),
        () => windows.remove('k', bad(value)),
      ],
      window: [
        () => windows.calculateCount('k', bad(value)),
        () => windows.keepCalculate('k', bad(value), 5),
        () => windows.clearOnCondition('k', bad(value), 5),
        () => windows.count('k', bad(value)),
        () => windows.timeline('k', bad(value), 5),
        () => windows.sliced('k', { slice: '1s', window: bad(value) }),
      ],
      threshold: [
        () => windows.keepCalculate('k', '1s', bad(value)),
        () => windows.clearOnCondition('k', '1s', bad(value)),
      ],
      buckets: [() => windows.timeline('k', '1h', bad(value))],
      slice: [() => windows.sliced('k', { slice: bad(value), window: '1m' })],
      by: [() => windows.sliced('k', { slice: '1s', window: '1m' }).increment(bad(value))],
    };
    for (const call of calls[argument]!) {
      const error = await errorOf(call);
      expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path: argument });
      expect(error.message).toContain(shown(value));
    }
  });

  it.each([
    ['1m', '1s'],
    ['7s', '1m'],
    ['1ms', '1h'],
  ])('a ring of slices of %s for %s is refused', async (slice, window) => {
    const error = await errorOf(() => services.windows.sliced('k', bad({ slice, window })));
    expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path: 'window' });
    expect(error.message).toContain(JSON.stringify(window));
  });

  it('SlidingWindowService refuses unknown options', async () => {
    const { windows } = services;
    for (const call of [
      () => windows.calculateCount('k', '1s', bad({ ids: 'a' })),
      () => windows.sliced('k', bad({ slice: '1s', window: '1m', slices: 60 })),
    ]) {
      expect((await errorOf(call)).code).toBe('SW_UNKNOWN_OPTION');
    }
  });

  const long = 'k'.repeat(16 * 1024);
  const strange = [
    ...['{', '}', '{}', '}{', '{a}', 'a}:b{', ':', '::', 'a:b', '|', 'a|b', '%', '%25', '%%', '#'],
    ...['\0', '\0\0', '\r\n', '\r', '\n', ' ', '\t', '*', '?', '[a]', '$(id)', "'", '"', '\\'],
    ...['\ud800', '\udc00', '\ud800\ud800', '\udc00\ud800', '😀', '\ufffd', 'é', 'e\u0301'],
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'global', 'undefined', 'null'],
    ...['0', '-0', '00', 'NaN', '=', '.a', ':a', encodeText(long), encodeText('{')],
    ...[long, `${long}k`, `${long.slice(1)}{`, '\ud800'.repeat(8192), '\udc00'.repeat(8192)],
  ];

  it('every subject is counted under its own key, whatever it holds', async () => {
    const { limiter } = services;
    const once = { name: 'strange', rules: '1/1h' } as const;
    for (const expected of [true, false]) {
      const outcomes = await Promise.all(strange.map((subject) => limiter.consume(once, subject)));
      for (const [i, { allowed, policies }] of outcomes.entries()) {
        expect([strange[i], allowed]).toEqual([strange[i], expected]);
        expect(policies[0]!.subject).toBe(strange[i]);
      }
    }
    for (const subject of strange) {
      await limiter.reset(once, subject);
      expect((await limiter.peek(once, subject)).allowed).toBe(true);
    }
  });

  it('every counter and every event id is counted apart, whatever it holds', async () => {
    const { windows } = services;
    for (const expected of [1, 2]) {
      for (const key of strange) expect(await windows.calculateCount(key, '1h')).toBe(expected);
    }
    for (const [i, id] of strange.entries()) {
      expect(await windows.calculateCount('ids', '1h', { id })).toBe(i + 1);
      expect(await windows.calculateCount('ids', '1h', { id })).toBe(i + 1);
    }
    for (const id of strange) expect(await windows.remove('ids', id)).toBe(true);
    expect(await windows.count('ids', '1h')).toBe(0);
    for (const key of strange) {
      const counter = windows.sliced(key, { slice: '1m', window: '1h' });
      expect(await counter.increment()).toEqual({ slice: 1, window: 1 });
    }
  });

  it('0 denies all, and a cost above the limit is never admitted', async () => {
    const { limiter } = services;
    for (const algorithm of ['sliding-log', 'fixed-window', 'sliding-counter', 'token-bucket']) {
      const rule = { algorithm, limit: 0, window: '1m' } as never;
      const none = { name: 'none', rules: rule };
      expect(await limiter.consume(none, algorithm)).toMatchObject({
        allowed: false,
        retryAfterMs: null,
      });
      const five = { name: 'five', rules: { algorithm, limit: 5, window: '1m' } as never };
      for (const cost of [6, Number.MAX_SAFE_INTEGER]) {
        expect(await limiter.consume(five, algorithm, { cost })).toMatchObject({
          allowed: false,
          retryAfterMs: null,
        });
      }
      expect((await limiter.consume(five, algorithm, { cost: 5 })).allowed).toBe(true);
    }
  });
});

describe('the arguments of @RateLimit', () => {
  /** A controller with one handler decorated so. */
  function controllerOf(...args: unknown[]): Type {
    @Controller('orders')
    class OrdersController {
      @Get()
      @((RateLimit as (...args: unknown[]) => MethodDecorator)(...args))
      create() {
        return 'ok';
      }
    }
    return OrdersController;
  }

  it.each(
    titled([
      ...cases('limit', NOT_COUNTS),
      ...cases('window', NOT_DURATIONS),
      ...cases('algorithm', ['leaky', '__proto__', 5]),
    ]),
  )('a rule with %s %s is refused', async (part, _, value) => {
    const rule = { limit: 5, window: '1m', [part]: value };
    const error = await errorOf(() => boot({}, controllerOf(LimitType.IP, rule)));
    expect(error).toMatchObject({
      code: 'SW_BAD_VALUE',
      path: `OrdersController.create @RateLimit rules.${part}`,
    });
    expect(error.message).toContain(shown(value));
  });

  it.each(
    titled([
      ...cases('name', ['', 'a b', 'a{b', 5, 'x'.repeat(65), null].slice(0, 5)),
      ...cases(
        'cost',
        NOT_COUNTS.filter((one) => one !== null),
      ),
      ...cases('skipIf', [true, 5, 'admin', {}]),
      ...cases('countWhen', ['never', 5, {}]),
      ...cases('blockFor', NOT_DURATIONS),
      ...cases('when', ['during', 5, true]),
      ...cases('onStoreError', ['open', 5]),
      ...cases('shadow', ['yes', 5]),
      ...cases('message', [5, {}, true]),
    ]),
  )('the option %s %s is refused', async (option, _, value) => {
    const error = await errorOf(() =>
      boot({}, controllerOf(LimitType.IP, '5/m', { [option]: value })),
    );
    expect(error).toMatchObject({
      code: 'SW_BAD_VALUE',
      path: `OrdersController.create @RateLimit ${option}`,
    });
    expect(error.message).toContain(shown(value));
  });

  it.each(['user', 'IP', '', 5, null, {}, undefined])('the type %j is refused', async (type) => {
    const error = await errorOf(() => boot({}, controllerOf(type, '5/m')));
    expect(error).toMatchObject({
      code: 'SW_BAD_VALUE',
      path: 'OrdersController.create @RateLimit type',
    });
  });

  it.each([{ costs: 5 }, { naem: 'a' }, { ttl: 5 }])(
    'an unknown option is refused: %j',
    async (options) => {
      const error = await errorOf(() => boot({}, controllerOf(LimitType.IP, '5/m', options)));
      expect(error.code).toBe('SW_UNKNOWN_OPTION');
      expect(error.path).toBe('OrdersController.create @RateLimit options');
    },
  );

  it.each(['missing', '__proto__', 'constructor', 5, null, undefined])(
    'an unknown policy name is refused: %j',
    async (name) => {
      const error = await errorOf(() => boot({}, controllerOf(name)));
      expect(error).toMatchObject({
        code: 'SW_UNKNOWN_POLICY',
        path: 'OrdersController.create @RateLimit',
      });
      expect(error.message).toContain(shown(name));
    },
  );

  it('handlers whose names collide are refused', async () => {
    const error = await errorOf(() =>
      boot({}, controllerOf(LimitType.IP, '5/m'), controllerOf(LimitType.IP, '5/m')),
    );
    expect(error.code).toBe('SW_NAME_TAKEN');
    expect(error.path).toBe('OrdersController.create @RateLimit');
    expect(error.message).toContain('OrdersController-create');
    expect(error.message).toContain('`name`');
  });

  it('policies of one name with other rules are refused', async () => {
    const named = { name: 'shared' };
    const error = await errorOf(() =>
      boot({}, controllerOf(LimitType.IP, '5/m', named), controllerOf(LimitType.IP, '6/m', named)),
    );
    expect(error.code).toBe('SW_RULES_DIFFER');
    expect(error.path).toBe('OrdersController.create @RateLimit');
    expect(error.message).toContain('"shared"');
    await boot(
      {},
      controllerOf(LimitType.IP, '5/m', named),
      controllerOf(LimitType.IP, { limit: 5, window: 60_000 }, named),
    );
  });

  it('a longer window with a lower limit is refused', async () => {
    const rules = [
      { limit: 100, window: '1s' },
      { limit: 10, window: '1m' },
    ];
    expect(await errorOf(() => boot({}, controllerOf(LimitType.IP, rules)))).toMatchObject({
      code: 'SW_LONGER_WINDOW_LOWER_LIMIT',
      path: 'OrdersController.create @RateLimit rules',
    });
  });

  it('a log above 100 000 entries is refused', async () => {
    const rules = { limit: 100_001, window: '1h' };
    expect(await errorOf(() => boot({}, controllerOf(LimitType.IP, rules)))).toMatchObject({
      code: 'SW_LOG_TOO_LONG',
      path: 'OrdersController.create @RateLimit rules.limit',
    });
  });
});

describe('the text of keys', () => {
  // Any UTF-16 at all, and much of what a key's own form uses.
  const unit = fc.oneof(
    fc.constantFrom(...'{}%#|:u0a\0\r\n'.split(''), '\ud800', '\udc00', '\uffff', '\xff', '\x7f'),
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
  );
  const text = fc.oneof(
    fc.array(unit, { maxLength: 8 }).map((units) => units.join('')),
    fc.array(unit, { minLength: 50, maxLength: 140 }).map((units) => units.join('')),
  );
  /** A text, and one that looks like it: its encoding, that one's, a part, a lookalike. */
  const pair = fc.tuple(text, text, fc.nat(5)).map(([one, another, kind]): [string, string] => [
    one,
    [
      another,
      encodeText(one),
      encodeText(encodeText(one)),
      one.slice(1),
      `${one}%`,
      // Lone surrogates replaced, as UTF-8 would.
      Buffer.from(one).toString(),
    ][kind]!,
  ]);

  it('is bounded and injective, also for what looks encoded', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        for (const encode of [encodeText, boundText]) {
          expect(encode(one) === encode(other)).toBe(one === other);
          expect(encode(one).length).toBeLessThanOrEqual(128);
        }
        expect(encodeText(one)).toMatch(/^[\x21-\x7e]+$/);
        expect(encodeText(one)).not.toMatch(/[{}|]/);
      }),
      { numRuns: 5000 },
    );
  });

  it('never ends a hash tag: a cluster hashes exactly policy, type and subject', () => {
    /** What CLUSTER KEYSLOT hashes: between the first '{' and the first '}' after it. */
    const tagOf = (key: string) => {
      const open = key.indexOf('{');
      const close = key.indexOf('}', open + 1);
      return open >= 0 && close > open + 1 ? key.slice(open + 1, close) : key;
    };
    const policy = compilePolicy(
      { name: 'tag', rules: ['5/m', { algorithm: 'token-bucket', limit: 5, window: '1m' }] },
      { onStoreError: 'local', shadow: false },
      'tag',
    );
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const keys = (subject: string) =>
          policy.plan.states.map((state) =>
            new Keys('sw').limit(chargeOf(policy, subject, 1), state),
          );
        const [tag, ...others] = keys(one).map(tagOf);
        expect(others).toEqual([tag]);
        expect(tag).toBe(`tag|custom|${encodeText(one)}`);
        expect(keys(other).map(tagOf).includes(tag!)).toBe(one === other);
        const counters = [one, other].map((key) => new Keys('sw').counter(key, 'event-log'));
        expect(tagOf(counters[0]!)).toBe(`counter|${encodeText(one)}`);
        expect(counters[0] === counters[1]).toBe(one === other);
      }),
      { numRuns: 3000 },
    );
  });
});
