import type { Clock } from './clock.js';
import { checkInteger, checkKeys, checkOneOf, configError } from './errors.js';
import type { ExecutionContext } from '@nestjs/common';
import { adapterOf, type ContextAdapters, resolveContexts } from './guard/contexts/adapters.js';
import type { ContextAdapter } from './guard/contexts/context.js';
import type { NamedPolicyOptions, PolicyOptions } from './guard/policy-options.js';
import type { Metrics } from './metrics/metrics.js';
import { type Duration, parseDuration } from './rules/duration.js';
import { checkPolicyName, STORE_ERROR_POLICIES, type StoreErrorPolicy } from './rules/policy.js';
import { parseRedisOption, type RedisOption } from './stores/redis/connection.js';

/** Which header fields carry the decision. */
export type HeaderMode = 'standard' | 'legacy' | 'both' | false;

/** Everything `SlidingWindowModule.forRoot()` accepts. All of it is optional. */
export interface SlidingWindowOptions {
  /** A URL, ioredis options, `{ cluster, options }`, or a client. @default absent: the in-process store */
  redis?: RedisOption;
  /** First part of each key. @default 'sw' */
  keyPrefix?: string;
  /** Named policies, for `@RateLimit('login')` and `limiter.consume('login', …)`. @default {} */
  policies?: Record<string, NamedPolicyOptions>;
  /** A policy for every handler that has none of its own. @default none */
  default?: PolicyOptions & { name?: string };
  /** @default id, sub or userId of the request's user; outside HTTP see docs/guides/contexts.md */
  getUserId?: (context: ExecutionContext) => string | undefined;
  /** Where the address is taken from; its answer is normalised. @default request.ip, or the peer's */
  getIp?: (context: ExecutionContext) => string | undefined;
  /** IPv6 addresses share a bucket by this prefix. @default 56 */
  ipv6Prefix?: number;
  /** @default 'standard' */
  headers?: HeaderMode;
  /** Answer 429 and 503 as `application/problem+json`. @default false */
  problemDetails?: boolean;
  /**
   * With it, addresses, ids and counters' keys are stored in Redis as HMAC-SHA-256: 16 characters or
   * more, the same in every process; another secret is another set of limits. @default as they are
   */
  keySecret?: string;
  /** What happens to a decision that no store could take in time. @default 'local' */
  onStoreError?: StoreErrorPolicy;
  /**
   * Processes that share the limits: while Redis is away each grants its part, at least one unit.
   * @default 1: each process grants the whole limit
   */
  replicas?: number;
  /** Refuse to start where the self-check of Redis finds a problem. @default false */
  strict?: boolean;
  /** Hard limit for one decision. @default 150 ms */
  timeout?: Duration;
  /** `'redis'`: the server's TIME; `'app'`: this process's; or a clock of yours. @default 'redis' */
  clock?: 'redis' | 'app' | Clock;
  /** The in-process store. @default { maxKeys: 100_000 } */
  memory?: { maxKeys?: number };
  /** Answers for keys known to be denied. @default { maxKeys: 10_000, maxAge: '1s' } */
  denyCache?: { maxKeys?: number; maxAge?: Duration } | false;
  /** Decide, report, never deny. @default false */
  shadow?: boolean;
  /** Register the guard for the whole application. @default true */
  globalGuard?: boolean;
  /** Where metrics go, as `prometheusMetrics(client)`. @default nowhere */
  metrics?: Metrics;
  /** Adapters for further execution contexts, or in place of the built-in ones. @default [] */
  contexts?: readonly ContextAdapter[];
}

/** The options as everything downstream sees them: complete. */
export interface ResolvedOptions {
  readonly redis: RedisOption | undefined;
  readonly keyPrefix: string;
  readonly keySecret: string | undefined;
  readonly policies: Readonly<Record<string, NamedPolicyOptions>>;
  readonly default: (PolicyOptions & { name?: string }) | undefined;
  readonly getUserId: (context: ExecutionContext) => unknown;
  readonly getIp: (context: ExecutionContext) => unknown;
  readonly ipv6Prefix: number;
  readonly headers: HeaderMode;
  readonly problemDetails: boolean;
  readonly onStoreError: StoreErrorPolicy;
  readonly replicas: number;
  readonly strict: boolean;
  readonly timeoutMs: number;
  readonly clock: 'redis' | 'app' | Clock;
  readonly memory: { readonly maxKeys: number };
  readonly denyCache: { readonly maxKeys: number; readonly maxAgeMs: number } | false;
  readonly shadow: boolean;
  readonly globalGuard: boolean;
  readonly metrics: Metrics | undefined;
  readonly contexts: ContextAdapters;
}

/** A record, so that the compiler keeps the list complete. */
const KNOWN: Record<keyof SlidingWindowOptions, true> = {
  redis: true,
  keyPrefix: true,
  keySecret: true,
  policies: true,
  default: true,
  getUserId: true,
  getIp: true,
  ipv6Prefix: true,
  headers: true,
  problemDetails: true,
  onStoreError: true,
  replicas: true,
  strict: true,
  timeout: true,
  clock: true,
  memory: true,
  denyCache: true,
  shadow: true,
  globalGuard: true,
  metrics: true,
  contexts: true,
};

export const DEFAULTS = {
  keyPrefix: 'sw',
  ipv6Prefix: 56,
  headers: 'standard',
  problemDetails: false,
  onStoreError: 'local',
  replicas: 1,
  strict: false,
  timeout: 150,
  clock: 'redis',
  memory: { maxKeys: 100_000 },
  denyCache: { maxKeys: 10_000, maxAge: 1000 },
  shadow: false,
  globalGuard: true,
} as const;

/** Throws RateLimitConfigError that names the option, the value and what is accepted. */
export function resolveOptions(written: SlidingWindowOptions = {}): ResolvedOptions {
  checkKeys(written, Object.keys(KNOWN), 'SlidingWindowModule options');
  // An option set to undefined counts as absent.
  const given = Object.fromEntries(
    Object.entries(written).filter(([, value]) => value !== undefined),
  ) as SlidingWindowOptions;
  const options = { ...DEFAULTS, ...given };
  const contexts = resolveContexts(options.contexts);
  return {
    redis: options.redis === undefined ? undefined : parseRedisOption(options.redis, 'redis'),
    keyPrefix: checkPrefix(options.keyPrefix),
    keySecret: options.keySecret === undefined ? undefined : checkSecret(options.keySecret),
    policies: checkPolicies(options.policies),
    default: options.default,
    getUserId:
      options.getUserId === undefined
        ? (context) => userIdOf(adapterOf(contexts, context).userOf?.(context))
        : checkFunction(options.getUserId, 'getUserId'),
    getIp:
      options.getIp === undefined
        ? (context) => adapterOf(contexts, context).addressOf?.(context)
        : checkFunction(options.getIp, 'getIp'),
    ipv6Prefix: checkInteger(options.ipv6Prefix, 'ipv6Prefix', 1, 128),
    headers: checkOneOf(options.headers, ['standard', 'legacy', 'both', false], 'headers'),
    problemDetails: checkOneOf(options.problemDetails, [true, false], 'problemDetails'),
    onStoreError: checkOneOf(options.onStoreError, STORE_ERROR_POLICIES, 'onStoreError'),
    replicas: checkInteger(options.replicas, 'replicas', 1, 1_000_000),
    strict: checkOneOf(options.strict, [true, false], 'strict'),
    timeoutMs: parseTimeout(options.timeout),
    clock: checkClock(options.clock),
    memory: resolveMemory(options.memory),
    denyCache: resolveDenyCache(options.denyCache),
    shadow: checkOneOf(options.shadow, [true, false], 'shadow'),
    globalGuard: checkOneOf(options.globalGuard, [true, false], 'globalGuard'),
    metrics: options.metrics === undefined ? undefined : checkMetrics(options.metrics),
    contexts,
  };
}

function userIdOf(value: unknown): unknown {
  const user = value as { id?: unknown; sub?: unknown; userId?: unknown } | null | undefined;
  return user?.id ?? user?.sub ?? user?.userId;
}

function checkFunction<T>(value: T, path: string): T {
  if (typeof value !== 'function')
    throw configError.badValue(path, value, 'a function of the context');
  return value;
}

/** Braces would put every key on one slot of a cluster. */
function checkPrefix(value: unknown): string {
  if (typeof value !== 'string' || !/^[A-Za-z0-9_.:-]{1,64}$/.test(value)) {
    throw configError.badValue('keyPrefix', value, '1 to 64 of A-Z a-z 0-9 _ . : -');
  }
  return value;
}

/** Nothing of the value is shown. */
function checkSecret(value: unknown): string {
  if (typeof value !== 'string' || value.length < 16) {
    throw configError.badValue(
      'keySecret',
      typeof value === 'string' ? `a string of ${value.length}` : value,
      'a string of 16 characters or more',
    );
  }
  return value;
}

/** A minute is no deadline any more, and a timer of weeks would fire at once. */
function parseTimeout(value: unknown): number {
  const timeoutMs = parseDuration(value, 'timeout');
  if (timeoutMs > 60_000) throw configError.badValue('timeout', value, 'at most 60000 ms');
  return timeoutMs;
}

function checkPolicies(value: unknown): Record<string, NamedPolicyOptions> {
  if (value === undefined) return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw configError.badValue('policies', value, 'an object of named policies');
  }
  for (const name of Object.keys(value)) checkPolicyName(name, `policies, the name of one`);
  return value as Record<string, NamedPolicyOptions>;
}

function checkClock(value: unknown): 'redis' | 'app' | Clock {
  if (value === 'redis' || value === 'app') return value;
  const clock = value as Partial<Clock> | null;
  if (typeof clock?.now === 'function' && typeof clock.sleep === 'function') return clock as Clock;
  throw configError.badValue('clock', value, `'redis', 'app', or an object with now() and sleep()`);
}

const METRICS: Record<keyof Metrics, true> = {
  countDecision: true,
  countNearLimit: true,
  countUnavailable: true,
  observeLatency: true,
  setStoreUp: true,
};

function checkMetrics(value: unknown): Metrics {
  const methods = Object.keys(METRICS);
  const given = value as Record<string, unknown> | null;
  if (typeof given !== 'object' || methods.some((name) => typeof given?.[name] !== 'function')) {
    throw configError.badValue(
      'metrics',
      value,
      `prometheusMetrics(client), openTelemetryMetrics(meter), or an object with ${methods.join(', ')}`,
    );
  }
  return value as Metrics;
}

function resolveMemory(value: SlidingWindowOptions['memory'] & object) {
  checkKeys(value, ['maxKeys'], 'memory');
  const { maxKeys = DEFAULTS.memory.maxKeys } = value;
  return { maxKeys: checkInteger(maxKeys, 'memory.maxKeys', 1, 2 ** 24) };
}

function resolveDenyCache(value: SlidingWindowOptions['denyCache'] & {}) {
  if (value === false) return false;
  checkKeys(value, ['maxKeys', 'maxAge'], 'denyCache');
  const { maxKeys = DEFAULTS.denyCache.maxKeys, maxAge = DEFAULTS.denyCache.maxAge } = value;
  return {
    maxKeys: checkInteger(maxKeys, 'denyCache.maxKeys', 1, 2 ** 24),
    maxAgeMs: parseDuration(maxAge, 'denyCache.maxAge'),
  };
}
