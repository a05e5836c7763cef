/** The store could not decide: it is away, slow, refused, or answered what cannot be. */
export class StoreError extends Error {
  override readonly name = 'StoreError';

  constructor(
    /** A short label without anything of the caller's: `'timeout'`, `'WRONGTYPE'`, `'malformed'`. */
    readonly reason: string,
    options?: ErrorOptions,
    /** What is wrong is the state of one key; the store itself works. */
    readonly ofOneKey = false,
  ) {
    super(`the store could not answer: ${reason}`, options);
  }

  /** Any failure of a client or a server, by its code or the first word of its text. */
  static from(failure: unknown): StoreError {
    return failure instanceof StoreError
      ? failure
      : new StoreError(labelOf(failure), { cause: failure });
  }

  /** What a script says of one decision, the others of its call being answered. */
  static ofDecision(text: string): StoreError {
    const label = labelOf({ message: text });
    return new StoreError(label, { cause: new Error(text) }, KEYS_OWN.includes(label));
  }
}

/** Another type in the key's place, or what is no number in it. */
const KEYS_OWN = ['WRONGTYPE', 'ERR', 'failed'];

function labelOf(failure: unknown): string {
  const { code, message } = (failure ?? {}) as { code?: unknown; message?: unknown };
  if (typeof code === 'string') return code;
  return /^[A-Z]{2,}(?![A-Za-z])/.exec(String(message))?.[0] ?? 'failed';
}
