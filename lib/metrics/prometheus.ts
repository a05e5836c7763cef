import type { Metrics } from './metrics.js';

/** What is needed of `prom-client`, by structure: the package is the application's. */
export interface PromClient {
  Counter: new (options: PromOptions) => PromCounter;
  Gauge: new (options: PromOptions) => PromGauge;
  Histogram: new (options: PromOptions & { buckets: number[] }) => PromHistogram;
  register: PromRegistry;
}

/** A counter of `prom-client`. */
export interface PromCounter {
  /** Adds one. */
  inc(labels: PromLabels): void;
}

/** A gauge of `prom-client`. */
export interface PromGauge {
  /** Takes the place of what was. */
  set(value: number): void;
}

/** A histogram of `prom-client`. */
export interface PromHistogram {
  /** One sample. */
  observe(labels: PromLabels, value: number): void;
}

/** A registry of `prom-client`. */
export interface PromRegistry {
  /** The metric of that name; undefined: there is none. */
  getSingleMetric(name: string): unknown;
}

/** Labels of one sample. */
export type PromLabels = Record<string, string>;

/** What a metric of `prom-client` is made of. */
export interface PromOptions {
  name: string;
  help: string;
  labelNames?: string[];
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- its own type, whatever it is
  registers?: any[];
}

/** Half a millisecond to a second: below a decision in process, above the deadline. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 1];

/**
 * Metrics by `prom-client`, in its default registry or in one of yours. Modules of one registry share
 * its metrics.
 *
 * @example
 * import * as client from 'prom-client';
 * SlidingWindowModule.forRoot({ metrics: prometheusMetrics(client) });
 */
export function prometheusMetrics(
  client: PromClient,
  registry: PromRegistry = client.register,
): Metrics {
  const metricOf = <T>(options: PromOptions, make: (options: PromOptions) => T): T =>
    (registry.getSingleMetric(options.name) as T | undefined) ??
    make({ ...options, registers: [registry] });
  const decisions = metricOf(
    {
      name: 'sliding_window_decisions_total',
      help: 'Decisions by policy, rule, outcome and source.',
      labelNames: ['policy', 'rule', 'outcome', 'source'],
    },
    (options) => new client.Counter(options),
  );
  const nearLimit = metricOf(
    {
      name: 'sliding_window_near_limit_total',
      help: 'Decisions after which more than 80 % of a limit is used.',
      labelNames: ['policy', 'rule'],
    },
    (options) => new client.Counter(options),
  );
  const unavailable = metricOf(
    { name: 'sliding_window_unavailable_total', help: 'Decisions that nobody could make.' },
    (options) => new client.Counter(options),
  );
  const latency = metricOf(
    {
      name: 'sliding_window_decision_seconds',
      help: 'Seconds from a question to its decision.',
      labelNames: ['source'],
    },
    (options) => new client.Histogram({ ...options, buckets: BUCKETS }),
  );
  const storeUp = metricOf(
    {
      name: 'sliding_window_store_up',
      help: '1 while the store decides, 0 while onStoreError does.',
    },
    (options) => new client.Gauge(options),
  );
  return {
    countDecision: (labels) => decisions.inc({ ...labels }),
    countNearLimit: (labels) => nearLimit.inc({ ...labels }),
    countUnavailable: () => unavailable.inc({}),
    observeLatency: (seconds, labels) => latency.observe({ ...labels }, seconds),
    setStoreUp: (up) => storeUp.set(up ? 1 : 0),
  };
}
