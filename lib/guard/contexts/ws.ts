import type { ExecutionContext } from '@nestjs/common';
import { firstObject } from './call.js';
import type { ContextAdapter } from './context.js';
import { optionalPackage, type Refusal, tellable, withDecision } from './refusal.js';

/** What we read of a client of socket.io or of ws. */
interface Client {
  user?: unknown;
  data?: { user?: unknown };
  request?: { user?: unknown };
  handshake?: { address?: unknown };
  _socket?: { remoteAddress?: unknown } | null;
}

const websockets = optionalPackage(() => import('@nestjs/websockets'));

/** Gateways, on socket.io and on ws. */
export const wsAdapter: ContextAdapter = {
  type: 'ws',

  /** Nest makes the arguments anew for each message; a parser may give one payload for many. */
  requestOf: (context) => context.getArgs<unknown[]>(),

  /** The message's payload, or the function that acknowledges it; a bare text or number is neither. */
  markOf(context) {
    const [, data, ack] = context.getArgs<unknown[]>();
    return firstObject(data, ack);
  },

  addressOf(context) {
    const client = clientOf(context);
    return client?.handshake === undefined
      ? client?._socket?.remoteAddress
      : client.handshake.address;
  },

  userOf(context) {
    const client = clientOf(context);
    return client?.user ?? client?.data?.user ?? client?.request?.user;
  },

  async refuse(refusal: Refusal, context) {
    const body = {
      ...tellable(refusal),
      // As in Nest's own errors, so that a client knows which of its messages is meant.
      cause: {
        pattern: context.switchToWs().getPattern(),
        data: context.switchToWs().getData<unknown>(),
      },
    };
    const WsException = (await websockets())?.WsException;
    const error = WsException === undefined ? new Error(refusal.message) : new WsException(body);
    return withDecision(error, refusal);
  },
};

function clientOf(context: ExecutionContext): Client | undefined {
  return context.switchToWs().getClient<Client | undefined>();
}
