import type { ExecutionContext } from '@nestjs/common';
import { configError } from '../../errors.js';
import type { Outcome } from '../policy-options.js';
import { httpAdapter } from './http.js';

/** What the guard needs of a transport. One small adapter for each, without state. */
export interface ContextAdapter {
  /** What `context.getType()` says. */
  readonly type: string;
  /** An object that lives exactly as long as the request. */
  requestOf(context: ExecutionContext): object;
  /** Sets a header field, where the transport has any. */
  setHeader(context: ExecutionContext, name: string, value: string): void;
  /** Calls `listener` once, when it is known how the request ended. */
  onFinished(context: ExecutionContext, listener: (outcome: Outcome) => void): void;
}

const adapters = new Map<string, ContextAdapter>([[httpAdapter.type, httpAdapter]]);

export function adapterOf(context: ExecutionContext): ContextAdapter {
  const type = context.getType<string>();
  const adapter = adapters.get(type);
  if (adapter === undefined) throw configError.unknownContext(type);
  return adapter;
}
