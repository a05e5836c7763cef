import { afterEach, describe, expect, it } from '@jest/globals';
import type { DecisionEvent, PolicyDefinition } from '../../lib/index.js';
import { freePort } from '../support/redis-server.js';
import { openServices, type Services, STORES } from '../support/services.js';

const POLICY: PolicyDefinition = { name: 'search', rules: '2/1m' };

describe('decisions$', () => {
  let services: Services | undefined;
  afterEach(async () => {
    await services?.close();
  });

  async function listen(...options: Parameters<typeof openServices>): Promise<DecisionEvent[]> {
    services = await openServices(...options);
    const events: DecisionEvent[] = [];
    services.limiter.decisions$.subscribe((event) => events.push(event));
    return events;
  }

  it.each(STORES)(
    'tells what was allowed and what was denied, with the decision: %s',
    async (store) => {
      const events = await listen(store);
      const decisions = [];
      for (let i = 0; i < 3; i++) decisions.push(await services!.limiter.consume(POLICY, 'a'));
      await services!.limiter.peek(POLICY, 'a');
      expect(events.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed', 'denied']);
      expect(events.map((event) => 'decision' in event && event.decision)).toEqual(decisions);
      for (const { tookMs } of events) expect(tookMs).toBeGreaterThanOrEqual(0);
    },
  );

  it('tells what a shadow policy would have denied', async () => {
    const events = await listen('memory', { shadow: true });
    for (let i = 0; i < 3; i++) {
      expect((await services!.limiter.consume(POLICY, 'a')).allowed).toBe(true);
    }
    expect(events.map(({ outcome }) => outcome)).toEqual(['allowed', 'allowed', 'would-deny']);
  });

  it('reports the same with and without shadow for the same traffic', async () => {
    const subjects = Array.from({ length: 60 }, (_, i) => `user-${(i * i) % 7}`);
    const reports = [];
    for (const shadow of [false, true]) {
      const events = await listen('memory', { shadow });
      for (const subject of subjects) await services!.limiter.consume(POLICY, subject);
      reports.push(
        events.map((event) => [
          event.outcome === 'would-deny' ? 'denied' : event.outcome,
          'decision' in event && event.decision.policies[0]!.rules[0]!.remaining,
        ]),
      );
      await services!.close();
    }
    expect(reports[1]).toEqual(reports[0]);
    expect(reports[0]!.flat()).toContain('denied');
  });

  it('tells what could not be decided', async () => {
    const redis = `redis://127.0.0.1:${await freePort()}`;
    const events = await listen('redis', { redis, onStoreError: 'deny' });
    await expect(services!.limiter.consume(POLICY, 'a')).rejects.toMatchObject({ status: 503 });
    expect(events).toMatchObject([{ outcome: 'unavailable', error: { status: 503 } }]);
  });

  it('goes on when nobody listens any more', async () => {
    services = await openServices('memory');
    const events: DecisionEvent[] = [];
    const listening = services.limiter.decisions$.subscribe((event) => events.push(event));
    await services.limiter.consume(POLICY, 'a');
    listening.unsubscribe();
    await services.limiter.consume(POLICY, 'a');
    expect(events).toHaveLength(1);
  });
});
