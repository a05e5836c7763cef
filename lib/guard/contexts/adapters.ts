import type { ExecutionContext } from '@nestjs/common';
import { configError } from '../../errors.js';
import type { ContextAdapter } from './context.js';
import { graphqlAdapter } from './graphql.js';
import { httpAdapter } from './http.js';
import { rpcAdapter } from './rpc.js';
import { wsAdapter } from './ws.js';

/** Adapters by the type of the context. */
export type ContextAdapters = ReadonlyMap<string, ContextAdapter>;

const BUILT_IN = [httpAdapter, graphqlAdapter, wsAdapter, rpcAdapter];

/** Methods that an adapter may leave out. */
const OPTIONAL = [
  'markOf',
  'addressOf',
  'userOf',
  'responseOf',
  'setHeader',
  'onFinished',
  'refuse',
] as const;

const ACCEPTED = 'an array of adapters, each { type, requestOf } and what else ContextAdapter has';

/** The built-in adapters and the application's, which go before them. Throws RateLimitConfigError. */
export function resolveContexts(written: unknown = []): ContextAdapters {
  if (!Array.isArray(written)) throw configError.badValue('contexts', written, ACCEPTED);
  return new Map([...BUILT_IN, ...written.map(checkAdapter)].map((one) => [one.type, one]));
}

function checkAdapter(written: unknown, index: number): ContextAdapter {
  const path = `contexts[${index}]`;
  const adapter = written as Partial<ContextAdapter> | null;
  if (typeof adapter !== 'object' || adapter === null) {
    throw configError.badValue(path, written, 'an adapter, { type, requestOf }');
  }
  if (typeof adapter.type !== 'string' || adapter.type === '') {
    throw configError.badValue(`${path}.type`, adapter.type, 'what context.getType() says');
  }
  for (const name of ['requestOf', ...OPTIONAL] as const) {
    const method = adapter[name];
    if (typeof method === 'function' || (method === undefined && name !== 'requestOf')) continue;
    throw configError.badValue(`${path}.${name}`, method, 'a function of the context');
  }
  return adapter as ContextAdapter;
}

/** Throws RateLimitConfigError for a context that no adapter knows. */
export function adapterOf(adapters: ContextAdapters, context: ExecutionContext): ContextAdapter {
  const type = context.getType<string>();
  const adapter = adapters.get(type);
  if (adapter === undefined) throw configError.unknownContext(type);
  return adapter;
}
