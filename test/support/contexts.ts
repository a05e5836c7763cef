import type { INestApplicationContext } from '@nestjs/common';

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
