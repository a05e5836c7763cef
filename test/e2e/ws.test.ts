import { describe } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { WsAdapter } from '@nestjs/platform-ws';
import { WebSocket } from 'ws';
import { closeLater, once } from '../support/contexts.js';
import {
  type Answer,
  describeBesidesHttp,
  describeGateways,
  type GatewayClient,
  type GatewaySuite,
} from '../support/gateway-suite.js';

const suite: GatewaySuite = {
  async listen(app: INestApplication) {
    app.useWebSocketAdapter(new WsAdapter(app));
    await app.listen(0, '127.0.0.1');
  },

  async connect(app): Promise<GatewayClient> {
    const socket = new WebSocket((await app.getUrl()).replace('http', 'ws'));
    closeLater(() => socket.terminate());
    await once(socket, 'open');
    const answers: Answer[] = [];
    const waiting: ((answer: Answer) => void)[] = [];
    socket.on('message', (data: Buffer) => {
      const answer = JSON.parse(data.toString()) as Answer;
      const next = waiting.shift();
      if (next === undefined) answers.push(answer);
      else next(answer);
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
        socket.send(JSON.stringify({ event, data }));
        return next();
      },
      close: () => socket.close(),
    };
  },
};

describe('gateways on ws', () => {
  describeGateways(suite);
  describeBesidesHttp(suite);
});
