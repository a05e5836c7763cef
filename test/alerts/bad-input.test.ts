import { describe, expect, it } from '@jest/globals';
import { Injectable, type Provider, Scope } from '@nestjs/common';
import { configError } from '../../lib/errors.js';
import { CountEvent, OnThreshold, RateLimitConfigError } from '../../lib/index.js';
import { openAlerts } from './open-alerts.js';

const GOOD = { by: () => 'ada', window: '5m', threshold: 5, clear: true };

/** Decorators take whatever JavaScript gives them. */
const countEvent = CountEvent as (name: unknown, options: unknown) => MethodDecorator;

function counting(options: unknown, name: unknown = 'login-failed') {
  @Injectable()
  class Login {
    @countEvent(name, options)
    login() {}
  }
  return Login;
}

async function failureOf(...providers: Provider[]): Promise<RateLimitConfigError> {
  const failure: unknown = await openAlerts('memory', providers).then(
    (app) => app.close(),
    (error: unknown) => error,
  );
  expect(failure).toBeInstanceOf(RateLimitConfigError);
  return failure as RateLimitConfigError;
}

const AT = 'Login.login @CountEvent';
const { by: _by, ...WITHOUT_BY } = GOOD;
const { clear: _clear, ...WITHOUT_CLEAR } = GOOD;
const KEEP = { ...WITHOUT_CLEAR, keep: true };

describe('@CountEvent is refused at boot, naming class, method and option,', () => {
  it.each([
    ['name', 'login failed'],
    ['name', ''],
    ['name', 'x'.repeat(65)],
    ['name', 'a:b'],
    ['name', null],
  ])('for the %s %j', async (_, name) => {
    const accepted = '1 to 64 of A-Z a-z 0-9 _ . -';
    const { message } = await failureOf(counting(GOOD, name));
    expect(message).toBe(configError.badValue(`${AT} name`, name, accepted).message);
  });

  it.each([
    ['options', null],
    ['options', 'clear'],
    ['options', []],
    ['options', WITHOUT_CLEAR],
    ['options', { ...KEEP, clear: true, cooldown: '1m' }],
    ['options', { ...GOOD, treshold: 5 }],
    ['by', WITHOUT_BY],
    ['by', { ...GOOD, by: 'email' }],
    ['window', { ...GOOD, window: 0 }],
    ['window', { ...GOOD, window: '5' }],
    ['window', { ...GOOD, window: '366d' }],
    ['window', { ...GOOD, window: undefined }],
    ['threshold', { ...GOOD, threshold: 0 }],
    ['threshold', { ...GOOD, threshold: 1.5 }],
    ['threshold', { ...GOOD, threshold: NaN }],
    ['threshold', { ...GOOD, threshold: '5' }],
    ['threshold', { ...GOOD, threshold: [] }],
    ['threshold', { ...GOOD, threshold: [5, 5] }],
    ['threshold', { ...GOOD, threshold: Array.from({ length: 17 }, (_, i) => i + 1) }],
    ['threshold[1]', { ...GOOD, threshold: [5, -1] }],
    // eslint-disable-next-line no-sparse-arrays -- a hole is no number
    ['threshold[1]', { ...GOOD, threshold: [5, , 7] }],
    ['clear', { ...GOOD, clear: false }],
    ['keep', { ...KEEP, keep: 1, cooldown: '1m' }],
    ['cooldown', KEEP],
    ['cooldown', { ...KEEP, cooldown: -1 }],
    ['cooldown', { ...GOOD, cooldown: '1m' }],
    ['when', { ...GOOD, when: 'fails' }],
    ['when', { ...GOOD, when: null }],
  ])('for %s of %j', async (option, options) => {
    const { path, code } = await failureOf(counting(options));
    expect(path).toBe(`${AT} ${option}`);
    expect(['SW_BAD_VALUE', 'SW_UNKNOWN_OPTION']).toContain(code);
  });

  it('where two methods count one event otherwise', async () => {
    for (const other of [{ window: '6m' }, { threshold: [5, 6] }]) {
      @Injectable()
      class Other {
        @countEvent('login-failed', { ...GOOD, ...other })
        login() {}
      }
      expect((await failureOf(counting(GOOD), Other)).message).toBe(
        configError.eventsDiffer('login-failed', AT, 'Other.login @CountEvent').message,
      );
    }
    const Kept = counting({ ...KEEP, cooldown: '1m' });
    expect((await failureOf(counting(GOOD), Kept)).code).toBe('SW_EVENTS_DIFFER');
  });

  it('but not where they differ in whom and when alone', async () => {
    @Injectable()
    class Other {
      @countEvent('login-failed', { ...GOOD, window: 300_000, by: () => 'bob', when: 'returns' })
      login() {}
    }
    await (await openAlerts('memory', [counting(GOOD), Other])).close();
  });
});

describe('@OnThreshold is refused at boot', () => {
  it.each([
    [[], []],
    [
      [counting(GOOD, 'one'), counting(GOOD, 'two')],
      ['one', 'two'],
    ],
  ])('for an event that nobody counts, %#', async (providers, known) => {
    class Alarm {
      @OnThreshold('log-in-failed')
      tell() {}
    }
    expect((await failureOf(...providers, Alarm)).message).toBe(
      configError.unknownEvent('Alarm.tell @OnThreshold', 'log-in-failed', known).message,
    );
  });

  it('for a name that is none', async () => {
    class Alarm {
      @OnThreshold(7 as unknown as string)
      tell() {}
    }
    expect((await failureOf(Alarm)).path).toBe('Alarm.tell @OnThreshold name');
  });

  it.each([Scope.REQUEST, Scope.TRANSIENT])('in a provider of scope %s', async (scope) => {
    @Injectable({ scope })
    class Alarm {
      @OnThreshold('login-failed')
      tell() {}
    }
    const { path, message } = await failureOf(counting(GOOD), Alarm);
    expect(path).toBe('Alarm.tell @OnThreshold');
    expect(message).toContain('use a provider of the default scope');
  });
});

it('neither can stand on a static method or an accessor', () => {
  const misplaced = [
    () => {
      class Login {
        @countEvent('login-failed', GOOD)
        static login() {}
      }
      return Login;
    },
    () => {
      class Login {
        @countEvent('login-failed', GOOD)
        get login() {
          return 1;
        }
      }
      return Login;
    },
  ];
  for (const declare of misplaced) expect(declare).toThrow('Login.login @CountEvent: ');
  expect(() => {
    class Alarm {
      @OnThreshold('login-failed')
      static tell() {}
    }
    return Alarm;
  }).toThrow('Alarm.tell @OnThreshold: "static" is not accepted; use a method of instances');
});
