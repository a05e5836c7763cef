import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type ArgumentsHost,
  type CanActivate,
  type CallHandler,
  Catch,
  Controller,
  type ExceptionFilter,
  type ExecutionContext,
  Get,
  HttpException,
  type INestApplicationContext,
  Injectable,
  UseFilters,
  type NestInterceptor,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import {
  type ClientProxy,
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  RpcException,
  Transport,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import {
  concat,
  firstValueFrom,
  lastValueFrom,
  NEVER,
  of,
  race,
  Subject,
  take,
  throwError,
  toArray,
} from 'rxjs';
import {
  type Decision,
  LimitType,
  RateLimit,
  RateLimiterService,
  RateLimitInfo,
  SkipRateLimit,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { closeAll, closeAppLater, closeLater } from '../support/contexts.js';
import { freePort } from '../support/redis-server.js';

/** Authenticates a call by what it says, and leaves the user on the context. */
@Injectable()
class TokenGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { token } = context.switchToRpc().getData<{ token?: string }>();
    if (token === undefined) throw new RpcException('who are you?');
    context.switchToRpc().getContext<{ user?: object }>().user = { id: token };
    return true;
  }
}

/** Notes what a server may know of a denial, and passes it on. */
const caught: (RpcException & { decision?: Decision })[] = [];

@Catch(RpcException)
class NotingFilter implements ExceptionFilter {
  catch(exception: RpcException, _: ArgumentsHost) {
    caught.push(exception);
    return throwError(() => exception.getError());
  }
}

const events: string[] = [];

@Controller()
class CallsController {
  @MessagePattern('ip')
  @UseFilters(NotingFilter)
  @RateLimit(LimitType.IP, '2/m')
  ip(@RateLimitInfo() decision: Decision) {
    return decision.policies[0]!.subject;
  }

  @MessagePattern('user')
  @UseGuards(TokenGuard)
  @RateLimit(LimitType.IP, '5/m', { name: 'user-ip' })
  @RateLimit(LimitType.USER_ID, '1/m', { name: 'user-id' })
  user(@RateLimitInfo() { policies }: Decision) {
    return policies.map(({ name, subject }) => `${name}=${subject}`).join();
  }

  @MessagePattern('spoofed')
  @RateLimit(LimitType.USER_ID, '1/m')
  spoofed() {
    return 'ok';
  }

  @MessagePattern('failures')
  @RateLimit(LimitType.GLOBAL, '2/m', { countWhen: 'failure' })
  failures(end: 'return' | 'throw' | 'stream' | 'break') {
    if (end === 'throw') throw new RpcException('failed');
    if (end === 'stream') return of(1, 2);
    if (end === 'break')
      return concat(
        of(1),
        throwError(() => new RpcException('broken')),
      );
    return 'ok';
  }

  @MessagePattern('status')
  @RateLimit(LimitType.GLOBAL, '1/m', { countWhen: ({ status }) => status === 404 })
  status(status: number) {
    throw new HttpException('no', status);
  }

  @MessagePattern('pending')
  @RateLimit(LimitType.GLOBAL, '1/m', { countWhen: 'failure' })
  pending() {
    return NEVER;
  }

  @MessagePattern('default')
  byDefault() {
    return 'ok';
  }

  @MessagePattern('skipped')
  @SkipRateLimit()
  skipped() {
    return 'ok';
  }

  @MessagePattern('closed')
  @RateLimit(LimitType.GLOBAL, '1/m', { onStoreError: 'deny', cost: () => -1 })
  closed() {
    return 'ok';
  }

  @EventPattern('event')
  @RateLimit(LimitType.GLOBAL, '2/m', { name: 'event' })
  event(name: string) {
    events.push(name);
  }

  @Get('both')
  @MessagePattern('both')
  @RateLimit(LimitType.GLOBAL, '1/m', { countWhen: 'failure' })
  both() {
    return 'ok';
  }
}

@Controller()
@RateLimit(LimitType.IP, '1/m', { name: 'class' })
class ClassController {
  @MessagePattern('class-a')
  a() {
    return 'ok';
  }

  @MessagePattern('class-b')
  b() {
    return 'ok';
  }
}

const late = new Subject<string>();

/** Answers without the handler when it takes too long, and gives it up. */
class ImpatientInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler) {
    return race(next.handle(), late).pipe(take(1));
  }
}

@Controller()
@UseInterceptors(ImpatientInterceptor)
class ImpatientController {
  @MessagePattern('given-up')
  @RateLimit(LimitType.GLOBAL, '1/m', { countWhen: 'success' })
  givenUp() {
    setImmediate(() => late.next('gave up'));
    return NEVER;
  }
}

type Kind = 'alone' | 'hybrid' | 'hybrid with the configuration of the application';
const KINDS: Kind[] = ['alone', 'hybrid', 'hybrid with the configuration of the application'];

interface Started {
  readonly app: INestApplicationContext;
  readonly url: string;
  readonly call: (pattern: string, data?: unknown) => Promise<any>;
  readonly client: ClientProxy;
}

async function start(kind: Kind, options: SlidingWindowOptions = {}): Promise<Started> {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options)],
    controllers: [CallsController, ClassController, ImpatientController],
    providers: [TokenGuard],
  }).compile();
  const server = {
    transport: Transport.TCP as const,
    options: { host: '127.0.0.1', port: await freePort() },
  };
  let app: INestApplicationContext;
  let url = '';
  if (kind === 'alone') {
    const microservice = module.createNestMicroservice({ ...server, logger: false });
    app = closeAppLater(microservice);
    await microservice.listen();
  } else {
    const hybrid = module.createNestApplication({ logger: false });
    app = closeAppLater(hybrid);
    hybrid.connectMicroservice(server, { inheritAppConfig: kind !== 'hybrid' });
    await hybrid.startAllMicroservices();
    await hybrid.listen(0, '127.0.0.1');
    url = await hybrid.getUrl();
  }
  const client = ClientProxyFactory.create(server);
  closeLater(() => client.close());
  return {
    app,
    url,
    client,
    call: (pattern, data = '') => lastValueFrom(client.send(pattern, data)),
  };
}

const denied = expect.objectContaining({ code: 'RATE_LIMITED' });

describe.each(KINDS)('a microservice, %s', (kind) => {
  afterEach(closeAll);

  it('counts calls by the address of the peer', async () => {
    const { call } = await start(kind);
    expect(await call('ip')).toBe('127.0.0.1');
    expect(await call('ip')).toBe('127.0.0.1');
    await expect(call('ip')).rejects.toEqual(denied);
  });

  it("applies a class's limits, the module's default, and no limit where it is skipped", async () => {
    const { call } = await start(kind, { default: { type: LimitType.IP, rules: '1/m' } });
    expect(await call('class-a')).toBe('ok');
    await expect(call('class-b')).rejects.toEqual(denied);
    expect(await call('default')).toBe('ok');
    await expect(call('default')).rejects.toEqual(denied);
    for (let i = 0; i < 3; i++) expect(await call('skipped')).toBe('ok');
  });

  it('charges a call once, before and after authentication', async () => {
    const { call } = await start(kind);
    expect(await call('user', { token: 'ann' })).toBe('user-ip=127.0.0.1,user-id=ann');
    await expect(call('user', { token: 'ann' })).rejects.toMatchObject({
      violatedPolicies: ['user-id'],
    });
    for (const token of ['b', 'c', 'd', 'e']) {
      expect(await call('user', { token })).toBe(`user-ip=127.0.0.1,user-id=${token}`);
    }
    await expect(call('user', { token: 'f' })).rejects.toMatchObject({
      violatedPolicies: ['user-ip'],
    });
  });
});

it('a microservice needs no guard for the whole application', async () => {
  const { call } = await start('alone', {
    globalGuard: false,
    default: { type: LimitType.IP, rules: '1/m' },
  });
  expect(await call('default')).toBe('ok');
  await expect(call('default')).rejects.toEqual(denied);
  expect(await call('class-a')).toBe('ok');
  await expect(call('class-b')).rejects.toEqual(denied);
  await closeAll();
});

it.each([
  ['alone', 5],
  ['hybrid', Infinity],
  ['hybrid with the configuration of the application', 5],
] as const)('a microservice, %s, counts what its guards refuse up to %d', async (kind, most) => {
  const { call } = await start(kind);
  const refused = { message: 'who are you?' };
  for (let i = 0; i < 5; i++) await expect(call('user', {})).rejects.toMatchObject(refused);
  await expect(call('user', {})).rejects.toMatchObject(
    most === 5 ? { violatedPolicies: ['user-ip'] } : refused,
  );
  await closeAll();
});

describe('a denied call', () => {
  afterEach(closeAll);

  it('tells what a caller can act on, and the decision to the server alone', async () => {
    const { call } = await start('alone', { clock: new ManualClock() });
    await call('ip');
    await call('ip');
    caught.length = 0;
    await expect(call('ip')).rejects.toEqual({
      status: 'error',
      code: 'RATE_LIMITED',
      message: 'Too Many Requests',
      retryAfterMs: 60_000,
      violatedPolicies: ['CallsController-ip'],
    });
    expect(caught).toHaveLength(1);
    expect(caught[0]).toBeInstanceOf(RpcException);
    expect(caught[0]!.decision).toMatchObject({
      allowed: false,
      policies: [{ subject: '127.0.0.1' }],
    });
  });

  it('is told apart from one that nobody could judge', async () => {
    const { call } = await start('alone');
    await expect(call('closed')).rejects.toMatchObject({
      code: 'RATE_LIMIT_UNAVAILABLE',
      retryAfterMs: 1000,
    });
  });

  it('of an event does not reach its handler', async () => {
    const { app, client } = await start('alone');
    events.length = 0;
    for (const name of ['a', 'b', 'c']) await lastValueFrom(client.emit('event', name));
    // Answered after the events: messages of one connection arrive in order.
    await lastValueFrom(client.send('skipped', ''));
    expect(events).toEqual(['a', 'b']);
    const { policies } = await app
      .get(RateLimiterService)
      .peek({ name: 'event', type: LimitType.GLOBAL, rules: '2/m' }, 'global');
    expect(policies[0]!.rules[0]!.remaining).toBe(0);
  });
});

describe('the user of a call', () => {
  afterEach(closeAll);

  it('is not whom the data names', async () => {
    const { call } = await start('alone');
    expect(await call('spoofed', { user: { id: 'one' } })).toBe('ok');
    await expect(call('spoofed', { user: { id: 'two' } })).rejects.toEqual(denied);
  });

  it('and its address are what the options of the application say', async () => {
    const { call } = await start('alone', {
      getIp: () => '10.1.2.3',
      getUserId: (context) => context.switchToRpc().getData<{ user: string }>().user,
    });
    expect(await call('ip')).toBe('10.1.2.3');
    expect(await call('spoofed', { user: 'one' })).toBe('ok');
    expect(await call('spoofed', { user: 'two' })).toBe('ok');
    await expect(call('spoofed', { user: 'two' })).rejects.toEqual(denied);
  });
});

describe('the outcome of a call', () => {
  afterEach(closeAll);

  it('is what the handler returns, streams or throws', async () => {
    const { call, client } = await start('alone');
    for (let i = 0; i < 3; i++) expect(await call('failures', 'return')).toBe('ok');
    const values = client.send('failures', 'stream').pipe(toArray());
    expect(await lastValueFrom(values)).toEqual([1, 2]);
    await expect(call('failures', 'throw')).rejects.toMatchObject({ message: 'failed' });
    await expect(call('failures', 'break')).rejects.toMatchObject({ message: 'broken' });
    await expect(call('failures', 'return')).rejects.toEqual(denied);
  });

  it('has the status of an HTTP exception', async () => {
    const { call } = await start('alone');
    const failed = { message: 'Internal server error' };
    await expect(call('status', 409)).rejects.toMatchObject(failed);
    await expect(call('status', 404)).rejects.toMatchObject(failed);
    await expect(call('status', 404)).rejects.toEqual(denied);
  });

  it('is no success where the handler is given up', async () => {
    const { call } = await start('alone');
    for (let i = 0; i < 3; i++) expect(await call('given-up')).toBe('gave up');
  });

  it('counts as long as it is not known', async () => {
    const { client, call } = await start('alone');
    const pending = client.send('pending', '').subscribe();
    closeLater(() => pending.unsubscribe());
    // Answered after the call that stays open has been charged.
    await call('skipped');
    await expect(firstValueFrom(client.send('pending', ''))).rejects.toEqual(denied);
  });

  it('is that of the response where HTTP calls the same handler', async () => {
    const { call, url } = await start('hybrid');
    for (let i = 0; i < 2; i++) {
      expect((await fetch(`${url}/both`)).status).toBe(200);
      expect(await call('both')).toBe('ok');
    }
  });
});
