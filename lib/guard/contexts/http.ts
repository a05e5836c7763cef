import type { ExecutionContext } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import type { ContextAdapter } from './context.js';

/** Express' response, or Fastify's reply with the response inside. */
type Reply = ServerResponse & {
  raw?: ServerResponse;
  header?: (name: string, value: string) => unknown;
};

type Request = { ip?: unknown; user?: unknown } | undefined;

/** Express and Fastify. */
export const httpAdapter: ContextAdapter = {
  type: 'http',

  requestOf: (context) => context.switchToHttp().getRequest<object>(),

  addressOf: (context) => context.switchToHttp().getRequest<Request>()?.ip,

  userOf: (context) => context.switchToHttp().getRequest<Request>()?.user,

  setHeader(context, name, value) {
    const reply = replyOf(context);
    if (reply.raw === undefined) reply.setHeader(name, value);
    else reply.header?.(name, value);
  },

  onFinished(context, listener) {
    const reply = replyOf(context);
    const response = reply.raw ?? reply;
    // 'close' comes in every case: after the last byte, or when the client has gone.
    response.once('close', () =>
      listener({ status: response.statusCode, completed: response.writableFinished }),
    );
  },
};

function replyOf(context: ExecutionContext): Reply {
  return context.switchToHttp().getResponse<Reply>();
}
