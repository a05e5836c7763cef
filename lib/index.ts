export { SlidingWindowModule } from './sliding-window.module.js';
export type { HeaderMode, SlidingWindowOptions } from './sliding-window.options.js';

export { RateLimit, RateLimitInfo, SkipRateLimit } from './guard/rate-limit.decorator.js';
export { LimitType, type SubjectType } from './rules/limit-type.js';
export type {
  CountWhen,
  LimitTypeInput,
  NamedPolicyOptions,
  Outcome,
  PolicyOptions,
  RateLimitOptions,
  RulesInput,
} from './guard/policy-options.js';
export type { Duration, DurationUnit } from './rules/duration.js';
export type {
  AlgorithmName,
  Rule,
  RuleShorthand,
  SlidingCounterRule,
  TokenBucketRule,
  WindowRule,
} from './rules/rule.js';
export type { Lease } from './rules/lease.js';
export type { PolicyDefinition, StoreErrorPolicy } from './rules/policy.js';

export {
  type ConsumeOptions,
  type PolicyReference,
  RateLimiterService,
  type WaitOptions,
} from './limiting/rate-limiter.service.js';
export type { DecisionEvent } from './limiting/decision-events.js';
export type { StoreEvent } from './resilience/store-events.js';
export type { RedisProblem, RedisProblemCode, SelfCheck } from './stores/redis/self-check.js';
export {
  type EventOptions,
  type SlicedCounter,
  SlidingWindowService,
} from './counting/sliding-window.service.js';
export type { Decision, DecisionSource, PolicyDecision, RuleState } from './decision.js';

export {
  SlidingWindowThrottlerStorage,
  type ThrottlerRecord,
} from './throttler/throttler-storage.js';

export { CountEvent } from './alerts/count-event.decorator.js';
export type {
  ClearingEvent,
  CountEventOptions,
  KeepingEvent,
  MethodOutcome,
} from './alerts/event-definition.js';
export { OnThreshold, type ThresholdAlert } from './alerts/on-threshold.decorator.js';

export { type ConfigErrorCode, RateLimitConfigError } from './errors.js';
export { RateLimitException, RateLimitUnavailableException } from './limiting/exceptions.js';

export type { InventoryRow } from './guard/inventory.js';
export { RateLimitGuard } from './guard/rate-limit.guard.js';
export { GlobalRateLimitGuard } from './guard/global-rate-limit.guard.js';

export type { ContextAdapter } from './guard/contexts/context.js';
export type { Refusal } from './guard/contexts/refusal.js';

export type { Clock } from './clock.js';
export type { RedisOption } from './stores/redis/connection.js';
export { type RedisClient, ScriptRunner } from './stores/redis/script-runner.js';
export type { Script } from './stores/redis/scripts.js';

export {
  type DegradedStatus,
  type SlidingWindowHealth,
  SlidingWindowHealthIndicator,
} from './health/health-indicator.js';
export { type Offender, TopOffenders } from './metrics/top-offenders.js';
export type { DecisionLabels, Metrics, RuleLabels } from './metrics/metrics.js';
export {
  type MeterCounter,
  type MeterGauge,
  type MeterHistogram,
  type MeterOptions,
  type MeterResult,
  openTelemetryMetrics,
  type OpenTelemetryMeter,
} from './metrics/open-telemetry.js';
export {
  type PromClient,
  type PromCounter,
  type PromGauge,
  type PromHistogram,
  type PromLabels,
  type PromOptions,
  type PromRegistry,
  prometheusMetrics,
} from './metrics/prometheus.js';
