/** Whom a policy counts. Its string values may be written instead. */
export const LimitType = {
  /** The client's address. */
  IP: 'ip',
  /** The authenticated user; without one, the address. */
  USER_ID: 'user-id',
  /** Everybody together. */
  GLOBAL: 'global',
} as const;

export type LimitType = (typeof LimitType)[keyof typeof LimitType];

/** A limit type, or `'custom'`: the subject comes from a function or from the caller. */
export type SubjectType = LimitType | 'custom';

export const LIMIT_TYPES: readonly LimitType[] = Object.values(LimitType);
