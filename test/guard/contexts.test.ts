import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, type ExecutionContext, Get, Injectable, type Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { ExternalContextCreator } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import {
  type ContextAdapter,
  type Decision,
  LimitType,
  RateLimit,
  RateLimitException,
  RateLimitInfo,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import { configError } from '../../lib/errors.js';
import { closeAll, closeAppLater } from '../support/contexts.js';
import { closeApps, startApp } from '../support/app.js';

/** A message of a transport that Nest does not know. */
interface Message {
  readonly from: string;
  readonly user?: { readonly id: string };
}

@Injectable()
class Consumer {
  @RateLimit(LimitType.IP, '1/m')
  byAddress() {
    return 'ok';
  }

  @RateLimit(LimitType.USER_ID, '1/m')
  byUser() {
    return 'ok';
  }

  @RateLimit(LimitType.GLOBAL, '1/m', { countWhen: 'failure' })
  ending(message: { fail: boolean }) {
    if (message.fail) throw new Error('failed');
    return 'ok';
  }

  @RateLimit(LimitType.GLOBAL, '1/m', { countWhen: 'failure', name: 'free' })
  free() {
    return 'ok';
  }

  @RateLimit(LimitType.GLOBAL, '2/m')
  informed(@RateLimitInfo() decision: Decision | undefined) {
    return decision?.policies[0]!.rules[0]!.remaining;
  }

  unlimited() {
    return 'ok';
  }
}

const least: ContextAdapter = {
  type: 'queue',
  requestOf: (context) => context.getArgByIndex<object>(0),
};

/** Calls handlers as a package for a transport does. */
async function start(options: SlidingWindowOptions, type: Type = Consumer) {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options)],
    providers: [type],
  }).compile();
  const app = closeAppLater(module.createNestApplication({ logger: false }));
  await app.init();
  const creator = app.get(ExternalContextCreator, { strict: false });
  const consumer = app.get<Record<string, () => unknown>>(type);
  return (method: string, message: object): Promise<unknown> => {
    const call = creator.create(
      consumer,
      consumer[method]!,
      method,
      ROUTE_ARGS_METADATA,
      { exchangeKeyForValue: () => undefined },
      undefined,
      undefined,
      undefined,
      'queue',
    ) as (message: object) => Promise<unknown>;
    return call(message);
  };
}

afterEach(closeAll);

describe('a context that no adapter knows', () => {
  it('fails where a handler is limited, and names the option', async () => {
    const call = await start({});
    await expect(call('byAddress', {})).rejects.toEqual(configError.unknownContext('queue'));
    expect(configError.unknownContext('queue').message).toContain('`contexts`');
    expect(await call('unlimited', {})).toBe('ok');
  });
});

describe('an adapter of the application', () => {
  it('needs to say no more than what the request is', async () => {
    const call = await start({ contexts: [least] });
    expect(await call('byAddress', { from: '10.0.0.1' })).toBe('ok');
    // Without an address all share one bucket.
    const denial = call('byAddress', { from: '10.0.0.2' });
    await expect(denial).rejects.toBeInstanceOf(RateLimitException);
    await expect(denial).rejects.toMatchObject({
      decision: { policies: [{ type: 'ip', subject: 'invalid' }] },
    });
  });

  it('charges a request once, whose handler is called again', async () => {
    const call = await start({ contexts: [least] });
    const message = {};
    expect(await call('byAddress', message)).toBe('ok');
    expect(await call('byAddress', message)).toBe('ok');
    await expect(call('byAddress', {})).rejects.toBeInstanceOf(RateLimitException);
  });

  it('counts each call by its arguments, and finds the decision by its mark', async () => {
    const adapter: ContextAdapter = {
      type: 'queue',
      requestOf: (context) => context.getArgs<unknown[]>(),
      markOf: (context) => context.getArgByIndex(0),
    };
    const call = await start({ contexts: [adapter] });
    const message = {};
    expect(await call('informed', message)).toBe(1);
    expect(await call('informed', message)).toBe(0);
    await expect(call('informed', message)).rejects.toBeInstanceOf(RateLimitException);
  });

  it('tells address, user and exception', async () => {
    class Rejected extends Error {}
    const call = await start({
      contexts: [
        {
          ...least,
          addressOf: (context) => context.getArgByIndex<Message>(0).from,
          userOf: (context) => context.getArgByIndex<Message>(0).user,
          refuse: ({ code, violatedPolicies }) =>
            new Rejected(`${code} ${violatedPolicies.join()}`),
        },
      ],
    });
    expect(await call('byAddress', { from: '10.0.0.1' })).toBe('ok');
    expect(await call('byAddress', { from: '10.0.0.2' })).toBe('ok');
    // The same address, mapped into IPv6.
    await expect(call('byAddress', { from: '::ffff:10.0.0.2' })).rejects.toEqual(
      new Rejected('RATE_LIMITED Consumer-byAddress'),
    );
    expect(await call('byUser', { from: '10.0.0.1', user: { id: 'ann' } })).toBe('ok');
    expect(await call('byUser', { from: '10.0.0.1', user: { id: 'bob' } })).toBe('ok');
    await expect(call('byUser', { user: { id: 'bob' } })).rejects.toBeInstanceOf(Rejected);
  });

  it('needs to say nothing of outcomes', async () => {
    const call = await start({ contexts: [least] });
    for (let i = 0; i < 3; i++) expect(await call('ending', { fail: false })).toBe('ok');
    await expect(call('ending', { fail: true })).rejects.toThrow('failed');
    await expect(call('ending', { fail: false })).rejects.toBeInstanceOf(RateLimitException);
  });

  it('may tell of outcomes itself', async () => {
    const endings: (() => void)[] = [];
    const call = await start({
      contexts: [
        {
          ...least,
          onFinished: (_, listener) =>
            endings.push(() => listener({ status: undefined, completed: true })),
        },
      ],
    });
    expect(await call('free', {})).toBe('ok');
    // Charged until it is told.
    await expect(call('free', {})).rejects.toBeInstanceOf(RateLimitException);
    endings.forEach((end) => end());
    expect(await call('free', {})).toBe('ok');
  });

  it('stands in place of a built-in one, also for the decision that a handler gets', async () => {
    @Controller()
    class InfoController {
      @Get()
      @RateLimit(LimitType.IP, '5/m')
      get(@RateLimitInfo() decision: { policies: { subject: string }[] }) {
        return decision.policies[0]!.subject;
      }
    }
    const raw = (context: ExecutionContext) =>
      context.switchToHttp().getRequest<{ socket: { remoteAddress: string } }>().socket;
    const app = await startApp({
      options: {
        contexts: [
          { type: 'http', requestOf: raw, addressOf: (context) => raw(context).remoteAddress },
        ],
      },
      controllers: [InfoController],
    });
    const response = await app.request('/', { ip: '10.9.8.7' });
    expect(await response.text()).toBe('127.0.0.1');
    expect(response.headers.get('ratelimit')).toBeNull();
    await closeApps();
  });
});

describe('the option contexts', () => {
  const accepted = 'a function of the context';
  it.each([
    ['contexts', { type: 'queue' }, /^contexts: an object is not accepted/],
    ['contexts[0]', [null], /^contexts\[0\]: null is not accepted/],
    ['contexts[0].type', [{ ...least, type: '' }], /^contexts\[0\]\.type: "" is not accepted/],
    ['contexts[0].requestOf', [{ type: 'queue' }], new RegExp(`undefined.*${accepted}`)],
    ['contexts[1].addressOf', [least, { ...least, addressOf: 'ip' }], new RegExp(accepted)],
  ])('fails at boot at %s', async (path, contexts, message) => {
    const boot = start({ contexts } as unknown as SlidingWindowOptions);
    await expect(boot).rejects.toMatchObject({ path, code: 'SW_BAD_VALUE' });
    await expect(boot).rejects.toThrow(message);
  });
});
