/** The store could not decide: it is away, slow, refused, or answered what cannot be. */
export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(
    /** A short label without anything of the caller's: `'timeout'`, `'WRONGTYPE'`, `'malformed'`. */
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`the store could not answer: ${reason}`, options);
  }

  /** Any failure of a client or a server, by its code or the first word of its text. */
  static from(failure: unknown): StoreError {
    if (failure instanceof StoreError) return failure;
    const { code, message } = failure as { code?: unknown; message?: unknown };
    const label =
      typeof code === 'string' ? code : /^[A-Z]{2,}(?![A-Za-z])/.exec(String(message))?.[0];
    return new StoreError(label ?? 'failed', { cause: failure });
  }
}
