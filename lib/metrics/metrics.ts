import type { DecisionSource } from '../decision.js';

/** How one rule took part in a decision. */
export interface RuleLabels {
  readonly policy: string;
  /** `'100/1m'`; `'other'` where a policy has had more rules than labels are kept for. */
  readonly rule: string;
}

/** What a decision is counted by. Never a subject: the number of series is bounded. */
export interface DecisionLabels extends RuleLabels {
  readonly outcome: 'allowed' | 'denied' | 'would-deny';
  readonly source: DecisionSource;
}

/**
 * Where metrics go: `prometheusMetrics(client)`, `openTelemetryMetrics(meter)`, or an object of
 * your own.
 */
export interface Metrics {
  /** One rule of one policy of one decision. */
  countDecision(labels: DecisionLabels): void;
  /** A decision after which more than 80 % of the rule's limit is used. */
  countNearLimit(labels: RuleLabels): void;
  /** A decision that nobody could make: `onStoreError: 'deny'`. */
  countUnavailable(): void;
  /** From the question to the decision. */
  observeLatency(seconds: number, labels: { readonly source: DecisionSource }): void;
  /** Whether the store decides (true), or `onStoreError` does. */
  setStoreUp(up: boolean): void;
}
