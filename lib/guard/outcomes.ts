import {
  type CallHandler,
  type ExecutionContext,
  HttpException,
  type NestInterceptor,
} from '@nestjs/common';
import { type Observable, tap } from 'rxjs';
import { adapterOf, type ContextAdapters } from './contexts/adapters.js';
import type { ContextAdapter } from './contexts/context.js';
import type { Outcome } from './policy-options.js';
import { stateOf } from './request-state.js';

type Listener = (outcome: Outcome) => void;

/** Has `listener` called once, when it is known how the request ended; never, if nobody finds out. */
export function onOutcome(
  context: ExecutionContext,
  adapter: ContextAdapter,
  listener: Listener,
): void {
  if (adapter.onFinished !== undefined) {
    adapter.onFinished(context, listener);
    return;
  }
  const state = stateOf(adapter.requestOf(context));
  (state.listeners ??= []).push(listener);
}

/**
 * Sees how a handler ends where the transport has no response to watch. The explorer puts it before
 * the handlers that need it, so the others pay nothing.
 */
export class OutcomeInterceptor implements NestInterceptor {
  constructor(private readonly adapters: ContextAdapters) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const adapter = adapterOf(this.adapters, context);
    const state = stateOf(adapter.requestOf(context));
    if (state.listeners === undefined) return next.handle();
    const finish = (outcome: Outcome) => {
      const listeners = state.listeners ?? [];
      state.listeners = undefined;
      for (const listener of listeners) listener(outcome);
    };
    return next.handle().pipe(
      tap({
        complete: () => finish({ status: undefined, completed: true }),
        error: (error: unknown) =>
          finish({
            status: error instanceof HttpException ? error.getStatus() : undefined,
            completed: false,
            error,
          }),
        // Given up from outside: a timeout, or a caller that has gone.
        unsubscribe: () => finish({ status: undefined, completed: false }),
      }),
    );
  }
}
