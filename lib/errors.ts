/** Stable codes of configuration errors; each has its section in docs/errors.md. */
export type ConfigErrorCode =
  | 'SW_BAD_VALUE'
  | 'SW_UNKNOWN_OPTION'
  | 'SW_UNKNOWN_POLICY'
  | 'SW_NAME_TAKEN'
  | 'SW_RULES_DIFFER'
  | 'SW_LONGER_WINDOW_LOWER_LIMIT'
  | 'SW_LOG_TOO_LONG'
  | 'SW_MISSING_FILE'
  | 'SW_MISSING_PACKAGE'
  | 'SW_UNKNOWN_CONTEXT'
  | 'SW_NOT_ON_CLUSTER'
  | 'SW_SELF_CHECK'
  | 'SW_NOT_LEASABLE'
  | 'SW_UNKNOWN_EVENT'
  | 'SW_EVENTS_DIFFER';

/**
 * An option, a rule or an argument that cannot be meant. Thrown at boot for what is configured, at
 * the call for what is passed; the message names the place, the value and what is accepted.
 *
 * @example
 * try {
 *   await limiter.consume({ name: 'like', rules: [{ limit: -1, window: '1m' }] }, 'user-1');
 * } catch (error) {
 *   error.message; // policy "like" rules[0].limit: -1 is not accepted; use an integer from 0 to …
 * }
 */
export class RateLimitConfigError extends Error {
  override readonly name = 'RateLimitConfigError';

  constructor(
    readonly code: ConfigErrorCode,
    /** Where: an option's name, or controller, handler and the part of its decorator. */
    readonly path: string,
    problem: string,
  ) {
    super(`${path}: ${problem} (${code})`);
  }
}

/** How a value is shown in a message: short, on one line, and never a whole object's content. */
function show(value: unknown): string {
  if (typeof value === 'string') {
    const text = value.length > 60 ? `${value.slice(0, 60)}…` : value;
    return JSON.stringify(text);
  }
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  if (typeof value === 'object' && value !== null) return 'an object';
  return String(value) + (typeof value === 'bigint' ? 'n' : '');
}

/** One factory per mistake, so that a test compares with the factory and not with a copied text. */
export const configError = {
  badValue: (path: string, value: unknown, accepted: string) =>
    new RateLimitConfigError(
      'SW_BAD_VALUE',
      path,
      `${show(value)} is not accepted; use ${accepted}`,
    ),

  unknownOption: (path: string, key: string, known: readonly string[]) =>
    new RateLimitConfigError(
      'SW_UNKNOWN_OPTION',
      path,
      `unknown option ${show(key)}; accepted are ${known.join(', ')}`,
    ),

  unknownPolicy: (path: string, name: unknown, known: readonly string[]) =>
    new RateLimitConfigError(
      'SW_UNKNOWN_POLICY',
      path,
      `there is no policy ${show(name)}; ` +
        (known.length > 0
          ? `accepted are ${known.join(', ')}`
          : 'the option `policies` names none'),
    ),

  nameTaken: (name: string, first: string, second: string) =>
    new RateLimitConfigError(
      'SW_NAME_TAKEN',
      second,
      `its policy would be named ${show(name)} like that of ${first}; give one of them the option \`name\``,
    ),

  rulesDiffer: (name: string, first: string, second: string) =>
    new RateLimitConfigError(
      'SW_RULES_DIFFER',
      second,
      `policy ${show(name)} has other rules at ${first}; policies of one name share one budget, so give them the same rules or different names`,
    ),

  longerWindowLowerLimit: (path: string, longer: string, shorter: string) =>
    new RateLimitConfigError(
      'SW_LONGER_WINDOW_LOWER_LIMIT',
      path,
      `${longer} makes ${shorter} pointless; a longer window needs at least the limit of a shorter one`,
    ),

  logTooLong: (path: string, limit: number, most: number) =>
    new RateLimitConfigError(
      'SW_LOG_TOO_LONG',
      path,
      `a sliding-log of ${limit} entries is not accepted; use at most ${most}, or algorithm: 'sliding-counter'`,
    ),

  missingFile: (path: string, reason: string) =>
    new RateLimitConfigError(
      'SW_MISSING_FILE',
      path,
      `cannot be read (${reason}); if the application is bundled, keep nestjs-sliding-window external or copy its lua folder beside the bundle's parent folder`,
    ),

  missingPackage: (name: string, reason: string) =>
    new RateLimitConfigError(
      'SW_MISSING_PACKAGE',
      name,
      `is needed ${reason}; install it: npm install ${name}`,
    ),

  unknownContext: (type: string) =>
    new RateLimitConfigError(
      'SW_UNKNOWN_CONTEXT',
      `execution context ${show(type)}`,
      'no adapter knows it; pass one in the option `contexts`',
    ),

  selfCheckFailed: (problems: readonly string[]) =>
    new RateLimitConfigError(
      'SW_SELF_CHECK',
      'redis',
      `${problems.join('; ')}; or leave out \`strict\``,
    ),

  notLeasable: (path: string, what: string) =>
    new RateLimitConfigError(
      'SW_NOT_LEASABLE',
      path,
      `${what} cannot keep its promise when units are taken ahead; use sliding-log, sliding-counter or fixed-window, or leave out \`lease\``,
    ),

  unknownEvent: (path: string, name: unknown, known: readonly string[]) =>
    new RateLimitConfigError(
      'SW_UNKNOWN_EVENT',
      path,
      `nobody counts the event ${show(name)}; ` +
        (known.length > 0 ? `counted are ${known.join(', ')}` : 'no method has @CountEvent'),
    ),

  eventsDiffer: (name: string, first: string, second: string) =>
    new RateLimitConfigError(
      'SW_EVENTS_DIFFER',
      second,
      `event ${show(name)} is counted otherwise at ${first}; events of one name share one counter, so give them the same window, threshold and mode or different names`,
    ),

  notOnCluster: (path: string, keyPrefix: string) =>
    new RateLimitConfigError(
      'SW_NOT_ON_CLUSTER',
      path,
      `the keyPrefix ${show(keyPrefix)} of the cluster's client has a brace, which decides the slot of each key, so that the keys of one policy could not be reached in one call; leave the braces out`,
    ),
};

/** Refuses anything but an object whose keys are known. */
export function checkKeys(
  value: unknown,
  known: readonly string[],
  path: string,
): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw configError.badValue(path, value, `an object with ${known.join(', ')}`);
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) throw configError.unknownOption(path, key, known);
  }
  return value as Record<string, unknown>;
}

/** Refuses anything but an integer from `least` to `most`. */
export function checkInteger(
  value: unknown,
  path: string,
  least: number,
  most: number = Number.MAX_SAFE_INTEGER,
): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < least || value > most) {
    throw configError.badValue(path, value, `an integer from ${least} to ${most}`);
  }
  return value;
}

/** Refuses a value that is not one of those accepted. */
export function checkOneOf<T>(value: unknown, accepted: readonly T[], path: string): T {
  if (!accepted.includes(value as T)) {
    throw configError.badValue(path, value, accepted.map((one) => JSON.stringify(one)).join(', '));
  }
  return value as T;
}
