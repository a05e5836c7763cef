import { afterEach, describe, expect, it } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { IoAdapter } from '@nestjs/platform-socket.io';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { io } from 'socket.io-client';
import { type Decision, LimitType, RateLimit, RateLimitInfo } from '../../lib/index.js';
import { closeAll, closeLater, once } from '../support/contexts.js';
import {
  type Answer,
  describeBesidesHttp,
  describeGateways,
  type GatewayClient,
  type GatewaySuite,
  startGateways,
} from '../support/gateway-suite.js';

async function open(app: INestApplication) {
  const socket = io(await app.getUrl(), { transports: ['websocket'], forceNew: true });
  closeLater(() => socket.close());
  await once(socket, 'connect');
  return socket;
}

const suite: GatewaySuite = {
  async listen(app) {
    app.useWebSocketAdapter(new IoAdapter(app));
    await app.listen(0, '127.0.0.1');
  },

  async connect(app): Promise<GatewayClient> {
    const socket = await open(app);
    const answers: Answer[] = [];
    const waiting: ((answer: Answer) => void)[] = [];
    socket.onAny((event: string, data: unknown) => {
      const waiter = waiting.shift();
      if (waiter === undefined) answers.push({ event, data });
      else waiter({ event, data });
    });
    const next = () => {
      const answer = answers.shift();
      return answer === undefined
        ? new Promise<Answer>((resolve) => waiting.push(resolve))
        : Promise.resolve(answer);
    };
    return {
      next,
      send(event, data) {
        socket.emit(event, data);
        return next();
      },
      close: () => socket.close(),
    };
  },
};

describe('gateways on socket.io', () => {
  describeGateways(suite);
  describeBesidesHttp(suite);
});

@WebSocketGateway()
class AcknowledgingGateway {
  @SubscribeMessage('ack')
  @RateLimit(LimitType.GLOBAL, '2/m')
  ack(@RateLimitInfo() decision: Decision | undefined) {
    return decision?.policies[0]?.rules[0]?.remaining ?? 'no decision';
  }
}

/** Hears the same message on the same namespace. */
@WebSocketGateway()
class SecondGateway {
  @SubscribeMessage('ack')
  @RateLimit(LimitType.GLOBAL, '1/m')
  ack() {
    return { event: 'second', data: 'ok' };
  }
}

describe('messages of socket.io', () => {
  afterEach(closeAll);

  it('give the decision on a bare text that asks for an acknowledgement', async () => {
    const socket = await open(await startGateways(suite, {}, [AcknowledgingGateway]));
    expect(await socket.emitWithAck('ack', 'text')).toBe(1);
    expect(await socket.emitWithAck('ack', 'text')).toBe(0);
    const exception = once<{ code: string }>(socket, 'exception');
    socket.emit('ack', 'text');
    expect((await exception).code).toBe('RATE_LIMITED');
  });

  it('are a request for each handler that hears them', async () => {
    const app = await startGateways(suite, {}, [AcknowledgingGateway, SecondGateway]);
    const socket = await open(app);
    const second = once(socket, 'second');
    expect(await socket.emitWithAck('ack', {})).toBe(1);
    expect(await second).toBe('ok');
    // The denial of the second handler gives nothing back that the first has used.
    const exception = once<{ violatedPolicies: string[] }>(socket, 'exception');
    expect(await socket.emitWithAck('ack', {})).toBe(0);
    expect((await exception).violatedPolicies).toEqual(['SecondGateway-ack']);
    const denials: string[] = [];
    const both = new Promise<void>((resolve) =>
      socket.on('exception', ({ violatedPolicies }: { violatedPolicies: string[] }) => {
        if (denials.push(...violatedPolicies) === 2) resolve();
      }),
    );
    socket.emit('ack', {});
    await both;
    expect(denials.sort()).toEqual(['AcknowledgingGateway-ack', 'SecondGateway-ack']);
  });
});
