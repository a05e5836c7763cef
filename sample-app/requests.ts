import type { ExecutionContext } from '@nestjs/common';
import type { IncomingHttpHeaders } from 'node:http';

/** What the sample reads of a request; Express' and Fastify's both have it. */
export interface SampleRequest {
  ip?: string;
  headers: IncomingHttpHeaders;
  query: Record<string, unknown>;
  body?: unknown;
  user?: { id: string };
}

export function requestOf(context: ExecutionContext): SampleRequest {
  return context.switchToHttp().getRequest<SampleRequest>();
}

/** Empty where the client sent none; a limit then counts the client's address. */
export function headerOf(context: ExecutionContext, name: string): string {
  return requestOf(context).headers[name]?.toString() ?? '';
}
