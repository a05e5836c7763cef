import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { historyOf, rulesFor, START } from '../support/histories.js';
import { mostInAnyWindow, type PlainRule } from '../support/reference-model.js';
import { openServices, type Services, STORES } from '../support/services.js';

const DAY = 86_400_000;

/**
 * Units that any stretch of true time may hold. The store's clock steps back; `admitted` are the
 * moments at which units really passed.
 */
function expectKept(rule: PlainRule, admitted: readonly number[]) {
  const window = Number(rule.window);
  if (rule.algorithm === 'token-bucket') {
    for (let first = 0; first < admitted.length; first++) {
      for (let last = first; last < admitted.length; last++) {
        const most = rule.limit * window + rule.refill! * (admitted[last]! - admitted[first]!);
        expect((last - first + 1) * window).toBeLessThanOrEqual(most);
      }
    }
    return;
  }
  // The limit of a fixed window holds between two edges, so twice of it across one.
  const most = rule.algorithm === 'fixed-window' ? 2 * rule.limit : rule.limit;
  expect(mostInAnyWindow(admitted, window)).toBeLessThanOrEqual(most);
}

describe.each(STORES)('a clock that steps back, in the %s store', (store) => {
  const clock = new ManualClock();
  let services: Services;
  let subjects = 0;

  beforeAll(async () => {
    services = await openServices(store, { clock });
  });
  afterAll(() => services.close());

  it.each(Object.entries(rulesFor(store)))('never admits more: %s', async (_, rule) => {
    await fc.assert(
      fc.asyncProperty(
        historyOf(fc.tuple(rule)),
        fc.infiniteStream(
          fc.oneof(
            { weight: 5, arbitrary: fc.constant(0) },
            // In tenths of a window: over an edge, a window, ten windows; then a second and a year.
            { weight: 3, arbitrary: fc.constantFrom(0.1, 0.2, 0.5, 1, 1, 10) },
            { weight: 1, arbitrary: fc.constantFrom(-1000, -365 * DAY) },
          ),
        ),
        async ({ rules, steps }, jumps) => {
          const policy = { name: 'back', rules };
          const subject = `s${subjects++}`;
          const window = Number(rules[0]!.window);
          const admitted: number[] = [];
          let ahead = 0;
          let trueTime = START;
          for (const { wait, cost } of steps) {
            const jump = jumps.next().value;
            ahead += jump < 0 ? -jump : Math.ceil(jump * window);
            trueTime += wait;
            clock.set(trueTime - ahead);
            const { allowed } = await services.limiter.consume(policy, subject, { cost });
            if (allowed) for (let i = 0; i < cost; i++) admitted.push(trueTime);
          }
          expectKept(rules[0]!, admitted);
        },
      ),
      { numRuns: store === 'memory' ? 1000 : 100 },
    );
  });

  it('gives no second limit at an edge of a fixed window that is passed twice', async () => {
    const policy = {
      name: 'edge',
      rules: [{ algorithm: 'fixed-window', limit: 3, window: '1m' }],
    } as const;
    const edge = Math.ceil(START / 60_000) * 60_000;
    const take = async (cost: number) =>
      (await services.limiter.consume(policy, 'u', { cost })).allowed;
    clock.set(edge - 1);
    expect(await take(3)).toBe(true);
    clock.set(edge);
    expect(await take(3)).toBe(true);
    clock.set(edge - 1000);
    expect(await take(1)).toBe(false);
    clock.set(edge);
    expect(await take(1)).toBe(false);
    clock.set(edge + 60_000);
    expect(await take(3)).toBe(true);
  });

  it('forgets no slice of a sliding counter early', async () => {
    const policy = {
      name: 'slices',
      rules: [{ algorithm: 'sliding-counter', limit: 6, window: '20s', slices: 2 }],
    } as const;
    const edge = Math.ceil(START / 10_000) * 10_000;
    const take = async (cost: number) =>
      (await services.limiter.consume(policy, 'u', { cost })).allowed;
    clock.set(edge - 1);
    expect(await take(5)).toBe(true);
    clock.set(edge);
    expect(await take(1)).toBe(true);
    clock.set(edge - 1);
    expect(await take(1)).toBe(false);
    // Ten seconds later the five are still within their twenty.
    clock.set(edge + 10_000);
    expect(await take(5)).toBe(false);
    clock.set(edge + 20_000);
    expect(await take(6)).toBe(true);
  });

  const minute = 60_000;
  const rules = [
    { algorithm: 'sliding-log', limit: 4, window: '1m' },
    { algorithm: 'fixed-window', limit: 4, window: '1m' },
    { algorithm: 'sliding-counter', limit: 4, window: '1m', slices: 6 },
    { algorithm: 'token-bucket', limit: 4, window: '1m', refill: 4 },
  ] as const;
  const jumps = [
    ['a second', 1000],
    ['a window', minute],
    ['ten windows', 10 * minute],
    ['a year', 365 * DAY],
  ] as const;
  const table = rules.flatMap((rule) =>
    jumps.map(([name, jump]) => [rule.algorithm, name, rule, jump] as const),
  );

  it.each(table)('delays a %s by at most one extra window: back by %s', async (_, __, rule, by) => {
    const policy = { name: 'delay', rules: [rule] };
    const subject = `s${subjects++}`;
    // Half a second after an edge, so that a second goes back over it.
    clock.set(Math.ceil(START / minute) * minute + 500);
    for (let i = 0; i < 4; i++) await services.limiter.consume(policy, subject);
    const before = await services.limiter.consume(policy, subject);
    expect(before.allowed).toBe(false);
    clock.set(clock.now() - by);
    const after = await services.limiter.consume(policy, subject);
    expect(after.allowed).toBe(false);
    expect(after.retryAfterMs!).toBeLessThanOrEqual(before.retryAfterMs! + minute);
    clock.set(clock.now() + after.retryAfterMs! - 1);
    expect((await services.limiter.consume(policy, subject)).allowed).toBe(false);
    clock.advance(1);
    expect((await services.limiter.consume(policy, subject)).allowed).toBe(true);
  });

  it('counts events of an hour ago no longer than their window, and none twice', async () => {
    clock.set(START);
    await services.windows.calculateCount('back', '10s');
    clock.set(START - 3_600_000);
    expect(await services.windows.calculateCount('back', '10s')).toBe(2);
    clock.advance('9999ms');
    expect(await services.windows.count('back', '10s')).toBe(2);
    clock.advance(1);
    expect(await services.windows.count('back', '10s')).toBe(0);
  });

  it('keeps the window of a sliced counter whole', async () => {
    const counter = services.windows.sliced('back', { slice: '10s', window: '30s' });
    clock.set(Math.ceil(START / 10_000) * 10_000);
    const start = clock.now();
    await counter.increment(5);
    clock.set(start + 10_000);
    await counter.increment(1);
    // Back over the edge: what was counted after it counts before it, and the rest stays.
    clock.set(start + 9_999);
    expect(await counter.timeline()).toEqual([0, 0, 0, 6]);
    expect(await counter.increment()).toEqual({ slice: 7, window: 7 });
    clock.set(start + 39_999);
    expect(await counter.windowSum()).toBe(7);
    clock.set(start + 40_000);
    expect(await counter.windowSum()).toBe(0);
  });
});
