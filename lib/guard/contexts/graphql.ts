import type { ExecutionContext } from '@nestjs/common';
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

  /** The resolve info, made anew for each field that is resolved. */
  requestOf: (context) =>
    firstObject(context.getArgByIndex(3), context.getArgByIndex(2), context.getArgs())!,

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

/** Every GraphQL server takes `extensions` over from the error that a resolver throws. */
class RateLimitGraphqlError extends Error {
  override readonly name = 'RateLimitGraphqlError';
  readonly extensions: Record<string, unknown>;

  constructor(refusal: Refusal) {
    super(refusal.message);
    const { code, retryAfterMs, violatedPolicies } = tellable(refusal);
    this.extensions = { code, retryAfterMs, violatedPolicies };
    withDecision(this, refusal);
  }
}

function contextOf(context: ExecutionContext): GraphqlContext | undefined {
  return context.getArgByIndex<GraphqlContext | undefined>(2);
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
