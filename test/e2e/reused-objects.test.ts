import { afterEach, describe, expect, it } from '@jest/globals';
import { Controller, type INestApplication } from '@nestjs/common';
import { type CustomTransportStrategy, Ctx, MessagePattern, Server } from '@nestjs/microservices';
import { WsAdapter } from '@nestjs/platform-ws';
import { Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { isObservable, lastValueFrom } from 'rxjs';
import { WebSocket } from 'ws';
import {
  type Decision,
  LimitType,
  RateLimit,
  RateLimitInfo,
  SlidingWindowModule,
} from '../../lib/index.js';
import { closeAll, closeAppLater, closeLater, once } from '../support/contexts.js';

@WebSocketGateway()
class PingGateway {
  @SubscribeMessage('ping')
  @RateLimit(LimitType.GLOBAL, '2/m')
  ping(@RateLimitInfo() decision: Decision) {
    return { event: 'pong', data: decision.policies[0]!.rules[0]!.remaining };
  }
}

@Controller()
class PingController {
  @MessagePattern('ping')
  @RateLimit(LimitType.GLOBAL, '2/m')
  ping(@Ctx() _: object, @RateLimitInfo() decision: Decision) {
    return decision.policies[0]!.rules[0]!.remaining;
  }
}

/** A transport that has one context for all its messages. */
class OneContextStrategy extends Server implements CustomTransportStrategy {
  private readonly context = {};

  listen(ready: () => void): void {
    ready();
  }

  close(): void {}

  on(): void {}

  unwrap<T>(): T {
    return this as unknown as T;
  }

  async call(pattern: string): Promise<unknown> {
    const answer: unknown = await this.getHandlerByPattern(pattern)!({}, this.context);
    return isObservable(answer)
      ? lastValueFrom(answer).catch((error: { code: string }) => error.code)
      : answer;
  }
}

async function create(): Promise<INestApplication> {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot()],
    controllers: [PingController],
    providers: [PingGateway],
  }).compile();
  return closeAppLater(module.createNestApplication({ logger: false }));
}

describe('every message counts', () => {
  afterEach(closeAll);

  it('where a parser gives one payload for many messages', async () => {
    const data = Object.freeze({});
    const app = await create();
    app.useWebSocketAdapter(new WsAdapter(app, { messageParser: () => ({ event: 'ping', data }) }));
    await app.listen(0, '127.0.0.1');
    const socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
    closeLater(() => socket.terminate());
    await once(socket, 'open');
    const answers: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      socket.send('p');
      const { event, data } = JSON.parse(String(await once(socket, 'message'))) as {
        event: string;
        data: { code?: string };
      };
      answers.push(event === 'pong' ? data : data.code);
    }
    expect(answers).toEqual([1, 0, 'RATE_LIMITED']);
  });

  it('where a transport has one context for all of them', async () => {
    const strategy = new OneContextStrategy();
    const app = await create();
    app.connectMicroservice({ strategy });
    await app.startAllMicroservices();
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await strategy.call('ping'));
    expect(answers).toEqual([1, 0, 'RATE_LIMITED']);
  });
});
