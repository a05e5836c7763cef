import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, type INestApplication, type Type } from '@nestjs/common';
import { INTERCEPTORS_METADATA } from '@nestjs/common/constants.js';
import { Test } from '@nestjs/testing';
import {
  LimitType,
  RateLimit,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { caught, closeAll, closeAppLater } from './contexts.js';
import { LimitedClassGateway, LimitedGateway, MessageAuthGuard } from './gateways.js';

/** What came back for a message: an event and its data. */
export interface Answer {
  readonly event: string;
  readonly data: any;
}

/** A client of either library: one answer for one message. */
export interface GatewayClient {
  send(event: string, data?: unknown): Promise<Answer>;
  /** The next answer, without sending anything. */
  next(): Promise<Answer>;
  close(): void;
}

@Controller()
class HelloController {
  @Get()
  @RateLimit(LimitType.IP, '1/m', { countWhen: 'success' })
  hello() {
    return 'hello';
  }
}

export interface GatewaySuite {
  /** Sets the WebSocket adapter and listens. */
  listen(app: INestApplication): Promise<void>;
  connect(app: INestApplication): Promise<GatewayClient>;
}

export async function startGateways(
  suite: GatewaySuite,
  options: SlidingWindowOptions = {},
  gateways: Type[] = [LimitedGateway, LimitedClassGateway],
): Promise<INestApplication> {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options)],
    controllers: [HelloController],
    providers: [...gateways, MessageAuthGuard],
  }).compile();
  const app = closeAppLater(module.createNestApplication({ logger: false }));
  await suite.listen(app);
  return app;
}

const denied = { event: 'exception', data: expect.objectContaining({ code: 'RATE_LIMITED' }) };
const ok = { event: 'reply', data: 'ok' };

/** What holds for gateways on every WebSocket library. */
export function describeGateways(suite: GatewaySuite): void {
  let client: GatewayClient;
  let other: GatewayClient;
  beforeAll(async () => {
    const clock = new ManualClock();
    const app = await startGateways(suite, {
      clock,
      default: { type: LimitType.IP, rules: '1/m' },
    });
    client = await suite.connect(app);
    other = await suite.connect(app);
  });
  afterAll(closeAll);

  it('counts messages, not connections, by the address of the peer', async () => {
    expect(await client.send('ip', { n: 1 })).toEqual({ event: 'reply', data: { n: 1 } });
    expect(await other.send('ip', { n: 2 })).toEqual({ event: 'reply', data: { n: 2 } });
    expect(await client.send('ip', { n: 3 })).toEqual(denied);
    expect(await other.send('ip', { n: 4 })).toEqual(denied);
    expect(await client.send('address', {})).toEqual({ event: 'reply', data: '127.0.0.1' });
  });

  it('tells what a client can act on, and nothing of the key', async () => {
    await client.send('user', { user: 'secret-user' });
    caught.length = 0;
    const answer = await client.send('user', { user: 'secret-user' });
    expect(answer).toEqual({
      event: 'exception',
      data: {
        status: 'error',
        code: 'RATE_LIMITED',
        message: 'not so fast',
        retryAfterMs: 60_000,
        violatedPolicies: ['user-id'],
        cause: { pattern: 'user', data: { user: 'secret-user' } },
      },
    });
    // The server's filters know whom it was.
    expect(caught).toHaveLength(1);
    expect(caught[0]!.decision?.policies).toContainEqual(
      expect.objectContaining({ name: 'user-id', subject: 'secret-user', allowed: false }),
    );
    const { cause: _, ...told } = answer.data;
    expect(JSON.stringify(told)).not.toMatch(/secret-user|127\.0\.0\.1/);
  });

  it('counts users that a guard of the message has authenticated', async () => {
    expect(await client.send('user', { user: 'ann' })).toEqual(ok);
    expect(await other.send('user', { user: 'ann' })).toEqual(denied);
    expect(await client.send('user', { user: 'bob' })).toEqual(ok);
  });

  it('injects the decision', async () => {
    const answer = await client.send('info', { n: 1 });
    expect(answer.data).toEqual({ remaining: 2, subject: 'global' });
  });

  it('limits messages of bare texts one by one', async () => {
    const answers = [];
    for (let i = 0; i < 4; i++) answers.push((await client.send('info', 'text')).event);
    expect(answers).toEqual(['reply', 'reply', 'exception', 'exception']);
  });

  it('applies what a class declares to each of its handlers', async () => {
    expect(await client.send('class-a', {})).toEqual(ok);
    expect(await client.send('class-b', {})).toEqual(denied);
    for (let i = 0; i < 3; i++) expect(await client.send('class-skipped', {})).toEqual(ok);
  });

  it("applies the module's default to handlers without limits, and skips what is skipped", async () => {
    expect(await client.send('default', {})).toEqual(ok);
    expect(await client.send('default', {})).toEqual(denied);
    for (let i = 0; i < 3; i++) expect(await client.send('skipped', {})).toEqual(ok);
  });

  it('needs no guard for the whole application', async () => {
    const app = await startGateways(suite, {
      globalGuard: false,
      default: { type: LimitType.IP, rules: '1/m' },
    });
    const one = await suite.connect(app);
    expect(await one.send('default', {})).toEqual(ok);
    expect(await one.send('default', {})).toEqual(denied);
    expect(await one.send('class-a', {})).toEqual(ok);
    expect(await one.send('class-b', {})).toEqual(denied);
  });

  it('counts by address what the guards of the handler refuse', async () => {
    const app = await startGateways(suite);
    const one = await suite.connect(app);
    for (let i = 0; i < 5; i++) {
      expect((await one.send('user', {})).data.message).toBe('who are you?');
    }
    expect((await one.send('user', {})).data.violatedPolicies).toEqual(['user-ip']);
  });

  it('says that it is not available where nobody can decide', async () => {
    const answer = await client.send('closed', {});
    expect(answer.event).toBe('exception');
    expect(answer.data).toMatchObject({
      status: 'error',
      code: 'RATE_LIMIT_UNAVAILABLE',
      retryAfterMs: 1000,
      violatedPolicies: [],
    });
  });

  it('counts by how the handler ended: what it returns, streams and throws', async () => {
    for (let i = 0; i < 4; i++) {
      expect(await client.send('failures', { end: 'return' })).toEqual(ok);
    }
    expect((await client.send('failures', { end: 'stream' })).data).toBe(1);
    expect((await client.next()).data).toBe(2);
    expect((await client.send('failures', { end: 'throw' })).data.message).toBe('failed');
    expect((await client.send('failures', { end: 'break' })).data).toBe(1);
    expect((await client.next()).data.message).toBe('broken');
    expect(await client.send('failures', { end: 'return' })).toEqual(denied);
  });
}

/** Kept beside the suite, so that a file for a library is short. */
export function describeBesidesHttp(suite: GatewaySuite): void {
  describe('beside HTTP', () => {
    afterAll(closeAll);

    it('leaves the handlers of HTTP as they are', async () => {
      const app = await startGateways(suite);
      const url = await app.getUrl();
      const answers = [await fetch(url), await fetch(url)];
      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
      // The response tells the outcome: no interceptor stands before the handler.
      const hello = Object.getOwnPropertyDescriptor(HelloController.prototype, 'hello')!;
      expect(Reflect.getMetadata(INTERCEPTORS_METADATA, hello.value as object)).toBeUndefined();
    });
  });
}
