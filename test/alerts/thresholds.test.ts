import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  CountEvent,
  type CountEventOptions,
  OnThreshold,
  type ThresholdAlert,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';
import { storeOptions } from '../support/app.js';
import { STORES } from '../support/services.js';
import { Listener, openAlerts } from './open-alerts.js';

const by = (key: string) => key;

/** A provider whose method is an event each time it is called. */
function counting(options: Omit<CountEventOptions, 'by' | 'when'>) {
  @Injectable()
  class Counted {
    @CountEvent('counted', { ...options, by, when: 'returns' } as CountEventOptions)
    happen(_key: string) {}
  }
  return Counted;
}

describe.each(STORES)('thresholds on the %s store', (store) => {
  it('tells the listener key, count, window, threshold and time, once per threshold events', async () => {
    const Counted = counting({ window: '5m', threshold: 3, clear: true });
    const clock = new ManualClock();
    const app = await openAlerts(store, [Counted, Listener], { clock });
    for (let i = 0; i < 7; i++) {
      app.get(Counted).happen('ada');
      clock.advance('1s');
    }
    app.get(Counted).happen('bob');
    await app.close();
    const alert = { name: 'counted', key: 'ada', count: 3, window: '5m', threshold: 3 };
    const start = new ManualClock().now();
    expect(app.alerts).toEqual([
      { ...alert, at: start + 2000 },
      { ...alert, at: start + 5000 },
    ]);
  });

  it('counts no event that has left the window', async () => {
    const Counted = counting({ window: '10s', threshold: 2, clear: true });
    const clock = new ManualClock();
    const app = await openAlerts(store, [Counted, Listener], { clock });
    app.get(Counted).happen('ada');
    await app.settle();
    clock.advance('10s');
    app.get(Counted).happen('ada');
    await app.settle();
    expect(app.alerts).toEqual([]);
    app.get(Counted).happen('ada');
    await app.close();
    expect(app.alerts).toHaveLength(1);
  });

  it('tells each of several thresholds once, and starts anew at the highest', async () => {
    const Counted = counting({ window: '5m', threshold: [7, 2, 5], clear: true });
    const app = await openAlerts(store, [Counted, Listener]);
    for (let i = 0; i < 14; i++) app.get(Counted).happen('ada');
    await app.close();
    const told = app.alerts.map(({ threshold, count }) => [threshold, count]);
    const once = [
      [2, 2],
      [5, 5],
      [7, 7],
    ];
    expect(told).toEqual([...once, ...once]);
  });

  it('keeps the events and tells each threshold once per cooldown, over two applications', async () => {
    const Counted = counting({ window: '1h', threshold: [2, 4], keep: true, cooldown: '10m' });
    const clock = new ManualClock();
    const options = { ...storeOptions(store), clock };
    const one = await openAlerts(store, [Counted, Listener], options);
    // The in-process store is not shared: both calls go to one application there.
    const two = store === 'redis' ? await openAlerts(store, [Counted, Listener], options) : one;
    const round = async () => {
      one.get(Counted).happen('ada');
      two.get(Counted).happen('ada');
      await one.settle();
      await two.settle();
      const alerts = new Set([...one.alerts, ...two.alerts]);
      return [...alerts].map(({ threshold }) => threshold).sort();
    };
    expect(await round()).toEqual([2]);
    expect(await round()).toEqual([2, 4]);
    expect(await round()).toEqual([2, 4]);
    clock.advance('9m');
    expect(await round()).toEqual([2, 4]);
    clock.advance('1m');
    expect(await round()).toEqual([2, 2, 4, 4]);
    expect(await one.windows.count('counted:ada', '1h')).toBe(10);
    await one.close();
    await two.close();
  });

  it('gives each key a cooldown of its own, also in shadow', async () => {
    const Counted = counting({ window: '1h', threshold: 1, keep: true, cooldown: '10m' });
    const app = await openAlerts(store, [Counted, Listener], { shadow: true });
    for (const key of ['ada', 'bob', 'ada', 'bob']) app.get(Counted).happen(key);
    await app.close();
    expect(app.alerts.map(({ key }) => key).sort()).toEqual(['ada', 'bob']);
  });

  it('logs what a listener throws or rejects with; the others are told, and no event is lost', async () => {
    @Injectable()
    class Failing {
      @OnThreshold('counted')
      rejects(): Promise<void> {
        return Promise.reject(new Error('no mail today'));
      }
      @OnThreshold('counted')
      throws(alert: ThresholdAlert): void {
        (alert as { key: string }).key = 'changed';
      }
    }
    const Counted = counting({ window: '5m', threshold: 2, clear: true });
    const app = await openAlerts(store, [Counted, Failing, Listener]);
    for (let i = 0; i < 5; i++) app.get(Counted).happen('ada');
    await app.settle();
    expect(app.alerts.map(({ key }) => key)).toEqual(['ada', 'ada']);
    expect(await app.windows.count('counted:ada', '5m')).toBe(1);
    const rejected = 'error Failing.rejects @OnThreshold: failed on "counted": no mail today';
    const thrown = expect.stringContaining(
      'error Failing.throws @OnThreshold: failed on "counted"',
    );
    expect(app.log.lines.filter((line) => line === rejected)).toHaveLength(2);
    expect(app.log.lines.filter((line) => !line.startsWith('warn'))).toEqual(
      expect.arrayContaining([thrown]),
    );
    await app.close();
  });

  it('finishes its counts before it closes, and counts nothing after', async () => {
    const Counted = counting({ window: '5m', threshold: 2, clear: true });
    const app = await openAlerts(store, [Counted, Listener]);
    const counted = app.get(Counted);
    for (let i = 0; i < 100; i++) counted.happen('ada');
    await app.close();
    expect(app.alerts).toHaveLength(50);
    counted.happen('ada');
    counted.happen('ada');
    expect(app.alerts).toHaveLength(50);
    expect(app.log.lines).toEqual([]);
  });

  it('is the counter that the service knows as name:key, so a success may clear it', async () => {
    const Counted = counting({ window: '5m', threshold: 3, clear: true });
    const app = await openAlerts(store, [Counted, Listener]);
    app.get(Counted).happen('ada');
    app.get(Counted).happen('ada');
    expect(await app.windows.count('counted:ada', '5m')).toBe(2);
    await app.windows.clear('counted:ada');
    app.get(Counted).happen('ada');
    await app.close();
    expect(app.alerts).toEqual([]);
  });
});

it('says in the log that nobody listens, and once that the store does not count', async () => {
  const Counted = counting({ window: '5m', threshold: 1, clear: true });
  const app = await openAlerts('memory', [Counted], {
    redis: { port: 1, lazyConnect: true, retryStrategy: () => null },
    onStoreError: 'deny',
    timeout: 50,
  });
  for (let i = 0; i < 3; i++) app.get(Counted).happen('ada');
  await app.close();
  expect(app.log.lines).toContain(
    'warn "counted" is counted, and no @OnThreshold listens to it here',
  );
  const failures = app.log.lines.filter((line) => line.includes('Counted.happen'));
  expect(failures).toEqual([
    expect.stringMatching(/^error Counted\.happen @CountEvent: not counted: /),
  ]);
});
