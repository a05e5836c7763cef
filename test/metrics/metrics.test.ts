import { afterEach, describe, expect, it } from '@jest/globals';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import * as promClient from 'prom-client';
import {
  type Metrics,
  openTelemetryMetrics,
  type PolicyDefinition,
  prometheusMetrics,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { freePort } from '../support/redis-server.js';
import { openServices, type Services } from '../support/services.js';

const POLICY: PolicyDefinition = { name: 'search', rules: ['5/10s', '100/1m'] };
const SHADOW: PolicyDefinition = { name: 'beta', rules: '1/1m', shadow: true };

/** Keeps what it collects, for the test to read. */
class PullReader extends MetricReader {
  protected override onShutdown() {
    return Promise.resolve();
  }
  protected override onForceFlush() {
    return Promise.resolve();
  }
}

describe('metrics', () => {
  let services: Services | undefined;
  afterEach(async () => {
    await services?.close();
  });

  async function traffic(metrics: Metrics): Promise<void> {
    services = await openServices('memory', { metrics, clock: new ManualClock() });
    for (let i = 0; i < 7; i++) await services.limiter.consume(POLICY, `203.0.113.${i % 1}`);
    for (let i = 0; i < 2; i++) await services.limiter.consume(SHADOW, 'alice');
  }

  it('count decisions by policy, rule, outcome and source for Prometheus, and never a subject', async () => {
    const registry = new promClient.Registry();
    await traffic(prometheusMetrics(promClient, registry));
    const text = await registry.metrics();
    for (const line of [
      'sliding_window_decisions_total{policy="search",rule="5/10s",outcome="allowed",source="memory"} 5',
      'sliding_window_decisions_total{policy="search",rule="5/10s",outcome="denied",source="memory"} 2',
      'sliding_window_decisions_total{policy="search",rule="100/1m",outcome="allowed",source="memory"} 7',
      'sliding_window_decisions_total{policy="beta",rule="1/1m",outcome="would-deny",source="memory"} 1',
      'sliding_window_near_limit_total{policy="search",rule="5/10s"} 3',
      'sliding_window_decision_seconds_count{source="memory"} 9',
      'sliding_window_store_up 1',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
    expect(text).not.toMatch(/203\.0|alice/);
  });

  it('count the same by OpenTelemetry', async () => {
    const reader = new PullReader();
    const meter = new MeterProvider({ readers: [reader] }).getMeter('limits');
    await traffic(openTelemetryMetrics(meter));
    const { resourceMetrics } = await reader.collect();
    const points = new Map(
      resourceMetrics.scopeMetrics[0]!.metrics.map(({ descriptor, dataPoints }) => [
        descriptor.name,
        dataPoints.map(({ attributes, value }) => ({ ...attributes, value })),
      ]),
    );
    expect(points.get('sliding_window.decisions')).toContainEqual({
      policy: 'search',
      rule: '5/10s',
      outcome: 'denied',
      source: 'memory',
      value: 2,
    });
    expect(points.get('sliding_window.near_limit')).toContainEqual({
      policy: 'search',
      rule: '5/10s',
      value: 3,
    });
    expect(points.get('sliding_window.store.up')).toEqual([{ value: 1 }]);
    expect(points.get('sliding_window.decision.duration')).toMatchObject([
      { source: 'memory', value: { count: 9 } },
    ]);
  });

  it('keep a bounded number of series where rules depend on the request', async () => {
    const registry = new promClient.Registry();
    services = await openServices('memory', { metrics: prometheusMetrics(promClient, registry) });
    for (let limit = 1; limit <= 300; limit++) {
      await services.limiter.consume({ name: 'plan', rules: `${limit}/1m` }, `tenant-${limit}`);
    }
    const series = (await registry.metrics()).match(/^sliding_window_decisions_total\{.*$/gm)!;
    expect(series).toHaveLength(51);
    expect(series.join('\n')).toContain('rule="other",outcome="allowed",source="memory"} 250');
  });

  it('say that onStoreError decides, and what nobody could decide', async () => {
    const registry = new promClient.Registry();
    services = await openServices('redis', {
      redis: `redis://127.0.0.1:${await freePort()}`,
      timeout: 150,
      metrics: prometheusMetrics(promClient, registry),
    });
    for (let i = 0; i < 6; i++) await services.limiter.consume(POLICY, 'a');
    const strict: PolicyDefinition = { name: 'strict', rules: '1/1m', onStoreError: 'deny' };
    await expect(services.limiter.consume(strict, 'a')).rejects.toMatchObject({ status: 503 });
    const lines = (await registry.metrics()).split('\n');
    expect(lines).toContain('sliding_window_store_up 0');
    expect(lines).toContain('sliding_window_unavailable_total 1');
    expect(lines.join('\n')).toMatch(/outcome="allowed",source="fallback"\} 5/);
  });

  it.each([[null], [{}], ['prometheus'], [{ countDecision: () => undefined }]])(
    'are refused when they are no metrics: %p',
    async (metrics) => {
      await expect(
        openServices('memory', { metrics: metrics as unknown as Metrics }),
      ).rejects.toMatchObject({ code: 'SW_BAD_VALUE', path: 'metrics' });
    },
  );
});
