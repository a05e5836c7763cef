import type { PolicyDecision, RuleState } from '../decision.js';
import type { DecisionEvent } from '../limiting/decision-events.js';
import type { RateLimiterService } from '../limiting/rate-limiter.service.js';
import { windowText } from '../rules/duration.js';
import type { Metrics, RuleLabels } from './metrics.js';

/** More of a policy's limits than this, as a function of the request may give, share one label. */
const MOST_RULES = 50;
const NEAR = 0.8;

/** Turns what the limiter tells into metrics. */
export class LimiterMetrics {
  private readonly rules = new Map<string, Map<string, RuleLabels>>();

  constructor(
    limiter: RateLimiterService,
    private readonly metrics: Metrics,
  ) {
    metrics.setStoreUp(true);
    limiter.decisions$.subscribe((event) => this.decided(event));
    limiter.store$.subscribe(({ type }) => {
      if (type === 'store-down' || type === 'store-up') metrics.setStoreUp(type === 'store-up');
    });
  }

  private decided(event: DecisionEvent): void {
    if (event.outcome === 'unavailable') {
      this.metrics.countUnavailable();
      return;
    }
    const { decision, tookMs } = event;
    this.metrics.observeLatency(tookMs / 1000, { source: decision.source });
    for (const policy of decision.policies) {
      for (const rule of policy.rules) {
        const labels = this.labelsOf(policy, rule);
        const outcome =
          rule.retryAfterMs === 0
            ? 'allowed'
            : decision.violated.includes(policy.name)
              ? 'denied'
              : 'would-deny';
        this.metrics.countDecision({ ...labels, outcome, source: decision.source });
        if (rule.limit - rule.remaining > NEAR * rule.limit) this.metrics.countNearLimit(labels);
      }
    }
  }

  private labelsOf({ name }: PolicyDecision, { limit, windowMs }: RuleState): RuleLabels {
    let known = this.rules.get(name);
    if (known === undefined) this.rules.set(name, (known = new Map<string, RuleLabels>()));
    const key = `${limit}/${windowMs}`;
    let labels = known.get(key);
    if (labels === undefined) {
      if (known.size >= MOST_RULES) return { policy: name, rule: 'other' };
      labels = { policy: name, rule: `${limit}/${windowText(windowMs)}` };
      known.set(key, labels);
    }
    return labels;
  }
}
