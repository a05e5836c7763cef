import type { ExceptionFilter, INestApplicationContext } from '@nestjs/common';
import type { Decision } from '../../lib/index.js';

/** Resolves when `emitter` has emitted `event`; gives what it passed. */
export function once<T = unknown>(
  emitter: { once(event: string, listener: (...args: any[]) => void): unknown },
  event: string,
): Promise<T> {
  return new Promise((resolve) => emitter.once(event, resolve));
}

const opened: (() => unknown)[] = [];

/** Has something closed by `closeAll`, in the reverse order. */
export function closeLater(close: () => unknown): void {
  opened.unshift(close);
}

export function closeAppLater<T extends INestApplicationContext>(app: T): T {
  closeLater(() => app.close());
  return app;
}

export async function closeAll(): Promise<void> {
  for (const close of opened.splice(0)) await close();
}

/** What exception filters of the application were given. */
export const caught: (Error & { decision?: Decision })[] = [];

/** Notes an exception of a resolver, and passes it on. */
export class NotingFilter implements ExceptionFilter {
  catch(exception: Error): Error {
    caught.push(exception);
    return exception;
  }
}
