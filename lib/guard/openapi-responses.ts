import type { HeaderMode } from '../sliding-window.options.js';
import { PROBLEM_MEDIA_TYPE } from './problem-details.js';

/** A response as `@ApiResponse()` of @nestjs/swagger takes it. */
export type ApiResponse = Readonly<Record<string, unknown>>;

export interface OpenApiOptions {
  readonly headers: HeaderMode;
  readonly problemDetails: boolean;
}

export function tooManyRequests(options: OpenApiOptions): ApiResponse {
  return {
    description: 'Too many requests',
    headers: { ...rateHeaders(options.headers), 'Retry-After': RETRY_AFTER },
    content: content(options, 429, { 'violated-policies': { type: 'array', items: STRING } }),
  };
}

export function unavailable(options: OpenApiOptions): ApiResponse {
  return {
    description: 'The rate limiter is not available',
    headers: { 'Retry-After': RETRY_AFTER },
    content: content(options, 503, {}),
  };
}

const STRING = { type: 'string' };
const INTEGER = { type: 'integer' };

const RETRY_AFTER = {
  description: 'Seconds until the request is worth repeating; absent if it never is',
  schema: { type: 'integer', minimum: 1 },
};

function rateHeaders(mode: HeaderMode): Record<string, unknown> {
  const standard = {
    'RateLimit-Policy': {
      description: 'Per rule: its name, the limit q, the window w in seconds',
      schema: STRING,
      example: '"default";q=100;w=60',
    },
    RateLimit: {
      description: 'Per rule: units left r, within the next t seconds',
      schema: STRING,
      example: '"default";r=0;t=5',
    },
  };
  const legacy = {
    'X-RateLimit-Limit': { description: 'The limit of the tightest rule', schema: INTEGER },
    'X-RateLimit-Remaining': { description: 'Units left of it', schema: INTEGER },
    'X-RateLimit-Reset': { description: 'Seconds until all of them are back', schema: INTEGER },
  };
  return {
    ...(mode === 'standard' || mode === 'both' ? standard : {}),
    ...(mode === 'legacy' || mode === 'both' ? legacy : {}),
  };
}

/** The body: problem details (RFC 9457), or Nest's of every HttpException. */
function content({ problemDetails }: OpenApiOptions, status: number, more: object): object {
  const properties = problemDetails
    ? {
        type: { type: 'string', format: 'uri' },
        title: STRING,
        status: { type: 'integer', example: status },
        detail: STRING,
        ...more,
      }
    : { statusCode: { type: 'integer', example: status }, message: STRING, error: STRING };
  const mediaType = problemDetails ? PROBLEM_MEDIA_TYPE : 'application/json';
  const schema = { type: 'object', required: Object.keys(properties), properties };
  return { [mediaType]: { schema } };
}
