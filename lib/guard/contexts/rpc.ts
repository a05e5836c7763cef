import type { ExecutionContext } from '@nestjs/common';
import { firstObject } from './call.js';
import type { ContextAdapter } from './context.js';
import { optionalPackage, tellable, withDecision } from './refusal.js';

/** What we read of a transport's context; TCP's has the socket. */
interface RpcContext {
  user?: unknown;
  getSocketRef?: () => { netSocket?: { remoteAddress?: unknown } } | undefined;
}

const microservices = optionalPackage(() => import('@nestjs/microservices'));

/** Microservices, on any transport. */
export const rpcAdapter: ContextAdapter = {
  type: 'rpc',

  /** Nest makes the arguments anew for each call; a strategy of one's own may reuse a context. */
  requestOf: (context) => context.getArgs<unknown[]>(),

  markOf: (context) => firstObject(contextOf(context), context.switchToRpc().getData()),

  addressOf: (context) => contextOf(context)?.getSocketRef?.()?.netSocket?.remoteAddress,

  /** What a guard has left on the context; never the data, in which a caller could name anyone. */
  userOf: (context) => contextOf(context)?.user,

  async refuse(refusal) {
    const RpcException = (await microservices())?.RpcException;
    const error =
      RpcException === undefined ? new Error(refusal.message) : new RpcException(tellable(refusal));
    return withDecision(error, refusal);
  },
};

function contextOf(context: ExecutionContext): RpcContext | undefined {
  return context.switchToRpc().getContext<RpcContext | undefined>();
}
