import type { Decision } from '../../decision.js';

/** What a transport other than HTTP is to tell its client. */
export interface Refusal {
  /** `'RATE_LIMITED'`: denied; `'RATE_LIMIT_UNAVAILABLE'`: nobody could decide. */
  readonly code: 'RATE_LIMITED' | 'RATE_LIMIT_UNAVAILABLE';
  readonly message: string;
  /** Milliseconds until the same request would pass; null: it never will. */
  readonly retryAfterMs: number | null;
  /** Names of the policies that denied. */
  readonly violatedPolicies: readonly string[];
  /** For `'RATE_LIMITED'` alone. It names subjects: not for the client. */
  readonly decision: Decision | undefined;
  readonly cause: unknown;
}

/** An exception as it is thrown: the server's filters find the decision, the client does not. */
export type RefusedError<E extends Error = Error> = E & {
  readonly decision: Decision | undefined;
};

/** What the client gets: nothing of the key, nothing of the subject. */
export function tellable({ code, message, retryAfterMs, violatedPolicies }: Refusal) {
  return { status: 'error', code, message, retryAfterMs, violatedPolicies } as const;
}

export function withDecision<E extends Error>(error: E, refusal: Refusal): RefusedError<E> {
  return Object.assign(error, { decision: refusal.decision, cause: refusal.cause });
}

/** A package that an application need not have, loaded when it is first asked for. */
export function optionalPackage<T>(load: () => Promise<T>): () => Promise<T | undefined> {
  let loaded: Promise<T | undefined> | undefined;
  return () => (loaded ??= load().catch(() => undefined));
}
