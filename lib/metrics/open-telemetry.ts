import type { Metrics } from './metrics.js';

/** What is needed of a meter of `@opentelemetry/api`, by structure: the package is the application's. */
export interface OpenTelemetryMeter {
  /** An instrument that counts up. */
  createCounter(name: string, options: MeterOptions): MeterCounter;
  /** An instrument of distributions. */
  createHistogram(name: string, options: MeterOptions): MeterHistogram;
  /** An instrument that is asked when metrics are read. */
  createObservableGauge(name: string, options: MeterOptions): MeterGauge;
}

/** A counter of `@opentelemetry/api`. */
export interface MeterCounter {
  /** Adds `value`. */
  add(value: number, labels?: object): void;
}

/** A histogram of `@opentelemetry/api`. */
export interface MeterHistogram {
  /** One sample. */
  record(value: number, labels?: object): void;
}

/** An observable gauge of `@opentelemetry/api`. */
export interface MeterGauge {
  /** Has `callback` tell the value whenever metrics are read. */
  addCallback(callback: (result: MeterResult) => void): void;
}

/** Where an observable gauge's value goes. */
export interface MeterResult {
  /** The value now. */
  observe(value: number): void;
}

/** What an instrument is made of. */
export interface MeterOptions {
  description: string;
  unit?: string;
}

/**
 * Metrics by a meter of `@opentelemetry/api`.
 *
 * @example
 * import { metrics } from '@opentelemetry/api';
 * SlidingWindowModule.forRoot({ metrics: openTelemetryMetrics(metrics.getMeter('limits')) });
 */
export function openTelemetryMetrics(meter: OpenTelemetryMeter): Metrics {
  const decisions = meter.createCounter('sliding_window.decisions', {
    description: 'Decisions by policy, rule, outcome and source.',
  });
  const nearLimit = meter.createCounter('sliding_window.near_limit', {
    description: 'Decisions after which more than 80 % of a limit is used.',
  });
  const unavailable = meter.createCounter('sliding_window.unavailable', {
    description: 'Decisions that nobody could make.',
  });
  const latency = meter.createHistogram('sliding_window.decision.duration', {
    description: 'From a question to its decision.',
    unit: 's',
  });
  let storeUp = true;
  meter
    .createObservableGauge('sliding_window.store.up', {
      description: '1 while the store decides, 0 while onStoreError does.',
    })
    .addCallback((result) => result.observe(storeUp ? 1 : 0));
  return {
    countDecision: (labels) => decisions.add(1, labels),
    countNearLimit: (labels) => nearLimit.add(1, labels),
    countUnavailable: () => unavailable.add(1),
    observeLatency: (seconds, labels) => latency.record(seconds, labels),
    setStoreUp: (up) => {
      storeUp = up;
    },
  };
}
