import { type ExecutionContext, IntrinsicException } from '@nestjs/common';
import type { ServerResponse } from 'node:http';
import { firstObject } from './call.js';
import type { ContextAdapter } from './context.js';
import { type Refusal, tellable, withDecision } from './refusal.js';

/** A request of Express or Fastify; graphql-ws has that of the upgrade in `extra`. */
interface Request {
  ip?: unknown;
  user?: unknown;
  res?: Response;
  socket?: { remoteAddress?: unknown };
  extra?: { user?: unknown; request?: Request };
}

type Response = ServerResponse & { raw?: ServerResponse; header?: (n: string, v: string) => void };

/** A context as Apollo, Mercurius or the application's own function makes it. */
interface GraphqlContext {
  user?: unknown;
  req?: Request;
  request?: Request;
  res?: Response;
  reply?: Response & { request?: Request };
}

/**
 * Resolvers, with Apollo and with Mercurius. Each call of a resolver is a request of its own: a
 * client could else write a hundred attempts as a hundred aliases in one operation.
 */
export const graphqlAdapter: ContextAdapter = {
  type: 'graphql',

  requestOf: (context) => context.getArgs<unknown[]>(),

  /** The resolve info. */
  markOf: (context) => firstObject(context.getArgs<unknown[]>().at(-1)),

  addressOf(context) {
    const request = requestOf(context);
    return request?.ip ?? (request?.extra?.request ?? request)?.socket?.remoteAddress;
  },

  userOf(context) {
    const request = requestOf(context);
    return request?.user ?? request?.extra?.user ?? contextOf(context)?.user;
  },

  responseOf,

  setHeader(context, name, value) {
    const response = responseOf(context);
    if (response === undefined || (response.raw ?? response).headersSent) return;
    if (response.raw === undefined) response.setHeader(name, value);
    else response.header?.(name, value);
  },

  refuse: (refusal) => new RateLimitGraphqlError(refusal),
};

/**
 * Every GraphQL server takes `extensions` over from the error that a resolver throws. Intrinsic, so
 * that Nest does not log an error, with its stack, for each denied call.
 */
class RateLimitGraphqlError extends IntrinsicException {
  override readonly name = 'RateLimitGraphqlError';
  readonly extensions: Record<string, unknown>;

  constructor(refusal: Refusal) {
    super(refusal.message);
    const { code, retryAfterMs, violatedPolicies } = tellable(refusal);
    this.extensions = { code, retryAfterMs, violatedPolicies };
    withDecision(this, refusal);
  }
}

/** A reference resolver gets no arguments of the query: the reference, the context, the info. */
function contextOf(context: ExecutionContext): GraphqlContext | undefined {
  const args = context.getArgs<unknown[]>();
  return args[args.length === 3 ? 1 : 2] as GraphqlContext | undefined;
}

function requestOf(context: ExecutionContext): Request | undefined {
  const graphql = contextOf(context);
  return graphql?.req ?? graphql?.request ?? graphql?.reply?.request;
}

function responseOf(context: ExecutionContext): Response | undefined {
  const graphql = contextOf(context);
  const response = graphql?.res ?? graphql?.reply ?? graphql?.req?.res;
  return typeof response?.setHeader === 'function' || response?.raw !== undefined
    ? response
    : undefined;
}
