import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { LimitType, RateLimit, type SlidingWindowOptions } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { closeApps, type Platform, startApp, storeOptions } from '../support/app.js';

const answer = { ok: true };

@Controller('orders')
class OrdersController {
  @Get('one')
  @RateLimit(LimitType.IP, '2/m', { name: 'one' })
  one() {
    return answer;
  }

  @Get('several')
  @RateLimit(
    LimitType.IP,
    [
      { limit: 1, window: '500ms' },
      { limit: 5, window: '1500ms' },
    ],
    { name: 'several' },
  )
  @RateLimit(LimitType.GLOBAL, '9/h', { name: 'all' })
  several() {
    return answer;
  }

  @Get('text')
  @RateLimit(LimitType.IP, '0/s', { name: 'text', message: 'Not so fast' })
  text() {
    return answer;
  }

  @Get('function')
  @RateLimit(LimitType.IP, '1/m', {
    name: 'function',
    message: ({ retryAfterMs, violated }) => `${violated.join()}: ${retryAfterMs} ms`,
  })
  function() {
    return answer;
  }

  @Get('broken')
  @RateLimit(
    () => {
      throw new TypeError('secret detail');
    },
    '1/m',
    { name: 'broken' },
  )
  broken() {
    return answer;
  }

  @Get('free')
  free() {
    return answer;
  }
}

@Controller()
class UserController {
  @Get()
  @RateLimit(LimitType.USER_ID, '1/m')
  get() {
    return answer;
  }
}

/** What the platforms say of themselves and of the connection. */
const THEIRS = new Set(['date', 'connection', 'keep-alive', 'x-powered-by', 'etag']);

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: unknown;
}

async function whole(response: Response): Promise<Answer> {
  const text = await response.text();
  const { 'content-length': length, ...headers } = Object.fromEntries(
    [...response.headers].filter(([name]) => !THEIRS.has(name)),
  );
  expect(length).toBe(String(Buffer.byteLength(text)));
  return { status: response.status, headers, body: JSON.parse(text) as unknown };
}

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };
const PROBLEM_TYPE = { 'content-type': 'application/problem+json; charset=utf-8' };
const PROBLEMS = 'https://iana.org/assignments/http-problem-types';

const standard = (policy: string, state: string) => ({
  'ratelimit-policy': policy,
  ratelimit: state,
});
const legacy = (limit: number, remaining: number, reset: number) => ({
  'x-ratelimit-limit': String(limit),
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset': String(reset),
});
const later = (seconds: number) => ({ 'retry-after': String(seconds) });

const allowed = (headers: object) => ({
  status: 200,
  headers: { ...JSON_TYPE, ...headers },
  body: answer,
});
const denied = (headers: object, message = 'Too Many Requests') => ({
  status: 429,
  headers: { ...JSON_TYPE, ...headers },
  body: { message, error: 'Too Many Requests', statusCode: 429 },
});
const problem = (headers: object, detail: string, ...violated: string[]) => ({
  status: 429,
  headers: { ...PROBLEM_TYPE, ...headers },
  body: {
    type: `${PROBLEMS}#quota-exceeded`,
    title: 'Too Many Requests',
    status: 429,
    detail,
    'violated-policies': violated,
  },
});

const one = (remaining: number, t: number) =>
  standard('"one";q=2;w=60', `"one";r=${remaining};t=${t}`);
const several = (states: string) =>
  standard('"several-500ms";q=1;w=1, "several-1500ms";q=5;w=2, "all";q=9;w=3600', states);

interface Case {
  promise: string;
  options?: SlidingWindowOptions;
  path: string;
  answers: object[];
}

/** Literally what a client gets, whichever platform and store answer. */
const cases: Case[] = [
  {
    promise: 'a limit of one rule, used up',
    path: 'one',
    answers: [allowed(one(1, 30)), allowed(one(0, 60)), denied({ ...one(0, 60), ...later(60) })],
  },
  {
    promise: 'windows of 500 ms and 1.5 s, and a second policy',
    path: 'several',
    answers: [
      allowed(several('"several-500ms";r=0;t=1, "several-1500ms";r=4;t=2, "all";r=8;t=3200')),
      denied({
        ...several('"several-500ms";r=0;t=1, "several-1500ms";r=4;t=1, "all";r=8;t=1'),
        ...later(1),
      }),
    ],
  },
  {
    promise: "headers: 'legacy'",
    options: { headers: 'legacy' },
    path: 'one',
    answers: [
      allowed(legacy(2, 1, 60)),
      allowed(legacy(2, 0, 60)),
      denied({ ...legacy(2, 0, 60), ...later(60) }),
    ],
  },
  {
    promise: "headers: 'legacy' over several rules",
    options: { headers: 'legacy' },
    path: 'several',
    answers: [allowed(legacy(1, 0, 1)), denied({ ...legacy(1, 0, 1), ...later(1) })],
  },
  {
    promise: "headers: 'both'",
    options: { headers: 'both' },
    path: 'one',
    answers: [
      allowed({ ...one(1, 30), ...legacy(2, 1, 60) }),
      allowed({ ...one(0, 60), ...legacy(2, 0, 60) }),
      denied({ ...one(0, 60), ...legacy(2, 0, 60), ...later(60) }),
    ],
  },
  {
    promise: 'headers: false',
    options: { headers: false },
    path: 'one',
    answers: [allowed({}), allowed({}), denied(later(60))],
  },
  {
    promise: 'problem details',
    options: { problemDetails: true },
    path: 'one',
    answers: [
      allowed(one(1, 30)),
      allowed(one(0, 60)),
      problem({ ...one(0, 60), ...later(60) }, 'Rate limit exceeded, retry in 60 s', 'one'),
    ],
  },
  {
    promise: 'problem details that name the rule',
    options: { problemDetails: true, headers: false },
    path: 'several',
    answers: [allowed({}), problem(later(1), 'Rate limit exceeded, retry in 1 s', 'several-500ms')],
  },
  {
    promise: 'a message of the policy, and no Retry-After where waiting does not help',
    path: 'text',
    answers: [denied(standard('"text";q=0;w=1', '"text";r=0'), 'Not so fast')],
  },
  {
    promise: 'a message of the policy in problem details',
    options: { problemDetails: true, headers: false },
    path: 'text',
    answers: [problem({}, 'Not so fast', 'text')],
  },
  {
    promise: 'a message made from the decision',
    options: { headers: false },
    path: 'function',
    answers: [allowed({}), denied(later(60), 'function: 60000 ms')],
  },
  {
    promise: 'a limiter that cannot judge',
    path: 'broken',
    answers: [
      {
        status: 503,
        headers: { ...JSON_TYPE, ...later(1) },
        body: {
          message: 'The rate limiter is not available',
          error: 'Service Unavailable',
          statusCode: 503,
        },
      },
    ],
  },
  {
    promise: 'a limiter that cannot judge, in problem details',
    options: { problemDetails: true },
    path: 'broken',
    answers: [
      {
        status: 503,
        headers: { ...PROBLEM_TYPE, ...later(1) },
        body: {
          type: `${PROBLEMS}#temporary-reduced-capacity`,
          title: 'Service Unavailable',
          status: 503,
          detail: 'The rate limiter is not available',
        },
      },
    ],
  },
  { promise: 'a route without limits', path: 'free', answers: [allowed({}), allowed({})] },
];

const runs = (['express', 'fastify'] as Platform[]).flatMap((platform) =>
  (['memory', 'redis'] as const).map((store) => ({ platform, store })),
);

describe.each(runs)('a whole answer, $platform, $store', ({ platform, store }) => {
  let clock: ManualClock;
  beforeEach(() => {
    clock = new ManualClock();
  });
  afterEach(closeApps);

  it.each(cases)('of $promise', async ({ options, path, answers }) => {
    const app = await startApp({
      options: { clock, ...storeOptions(store), ...options },
      controllers: [OrdersController],
      platform,
    });
    const found: Answer[] = [];
    for (let i = 0; i < answers.length; i++) {
      found.push(await whole(await app.request(`/orders/${path}`, { ip: '203.0.113.9' })));
    }
    expect(found).toEqual(answers);
    // Whom it counted, and by which key, is nobody's business.
    expect(JSON.stringify(found)).not.toMatch(/203\.0\.113|secret/);
  });

  it('of a request by a user names nobody', async () => {
    const app = await startApp({
      options: { clock, ...storeOptions(store), getUserId: () => 'user-4711', headers: 'both' },
      controllers: [UserController],
      platform,
    });
    for (let i = 0; i < 2; i++) {
      const found = await whole(await app.request('/', { ip: '203.0.113.9' }));
      expect(found.headers).toHaveProperty('ratelimit');
      expect(JSON.stringify(found)).not.toMatch(/4711|203\.0\.113/);
    }
  });
});
