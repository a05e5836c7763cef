import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, Scope } from '@nestjs/common';
import {
  BehaviorSubject,
  firstValueFrom,
  lastValueFrom,
  Observable,
  of,
  range,
  take,
  throwError,
} from 'rxjs';
import { CountEvent, type CountEventOptions, type MethodOutcome } from '../../lib/index.js';
import { Listener, openAlerts, type OpenAlerts } from './open-alerts.js';

const EACH = { by: (key: string) => key, window: '5m', threshold: 1, clear: true } as const;
const BROKEN = new Error('broken');

let app: OpenAlerts | undefined;
afterEach(async () => {
  await app?.close();
  app = undefined;
});

async function open<T>(type: new () => T): Promise<T> {
  app = await openAlerts('memory', [type, Listener]);
  return app.get(type);
}

/** The keys of the events so far. */
async function keys(): Promise<string[]> {
  await app!.settle();
  return app!.alerts.map(({ key }) => key);
}

@Injectable()
class Calls {
  private readonly secret = 42;

  @CountEvent('counted', EACH)
  sync(_key: string, fails: boolean): number {
    if (fails) throw BROKEN;
    return this.secret;
  }

  @CountEvent('counted', EACH)
  async later(_key: string, fails: boolean): Promise<number> {
    await Promise.resolve();
    if (fails) throw BROKEN;
    return this.secret;
  }

  @CountEvent('counted', EACH)
  stream(_key: string, fails: boolean): Observable<number> {
    return fails ? throwError(() => BROKEN) : of(1, this.secret);
  }
}

describe('a counted method', () => {
  it('returns and throws what it did, at once where it is synchronous', async () => {
    const calls = await open(Calls);
    expect(calls.sync('ok', false)).toBe(42);
    expect(() => calls.sync('sync', true)).toThrow(BROKEN);
    expect(await keys()).toEqual(['sync']);
  });

  it('gives promises, with the same value or the same error', async () => {
    const calls = await open(Calls);
    expect(await calls.later('ok', false)).toBe(42);
    const failing = calls.later('later', true);
    expect(failing).toBeInstanceOf(Promise);
    await expect(failing).rejects.toBe(BROKEN);
    expect(await keys()).toEqual(['later']);
  });

  it('gives observables that count each subscription when it ends', async () => {
    const calls = await open(Calls);
    expect(await lastValueFrom(calls.stream('ok', false))).toBe(42);
    const failing = calls.stream('stream', true);
    expect(await keys()).toEqual([]);
    await expect(lastValueFrom(failing)).rejects.toBe(BROKEN);
    await expect(lastValueFrom(failing)).rejects.toBe(BROKEN);
    expect(await keys()).toEqual(['stream', 'stream']);
  });

  it('counts no stream that is given up, and stops one that is endless', async () => {
    class Streams {
      @CountEvent('counted', { ...EACH, when: () => true })
      endless(_key: string): Observable<number> {
        return range(0, 1_000_000_000);
      }
      @CountEvent('counted', { ...EACH, when: () => true })
      open(_key: string): Observable<number> {
        return new BehaviorSubject(7);
      }
    }
    const streams = await open(Streams);
    expect(await lastValueFrom(streams.endless('endless').pipe(take(2)))).toBe(1);
    expect(await firstValueFrom(streams.open('open'))).toBe(7);
    expect(await keys()).toEqual([]);
  });

  it('takes a thenable for a value, and never runs it', async () => {
    const query = { then: jest.fn() };
    class Queries {
      @CountEvent('counted', { ...EACH, when: 'returns' })
      query(_key: string) {
        return query;
      }
    }
    const queries = await open(Queries);
    expect(queries.query('query')).toBe(query);
    expect(query.then).not.toHaveBeenCalled();
    expect(await keys()).toEqual(['query']);
  });

  it('does not wait for the count', async () => {
    app = await openAlerts('redis', [Calls, Listener]);
    await app
      .get(Calls)
      .later('later', true)
      .catch(() => undefined);
    expect(app.alerts).toEqual([]);
    expect(await keys()).toEqual(['later']);
  });

  it('works as without the decorator where no application has made it', async () => {
    await open(Calls);
    const calls = new Calls();
    expect(calls.sync('ok', false)).toBe(42);
    expect(() => calls.sync('elsewhere', true)).toThrow(BROKEN);
    const detached = Reflect.get(Calls.prototype, 'sync') as (...args: unknown[]) => unknown;
    expect(() => detached('detached', true)).toThrow(BROKEN);
    expect(await keys()).toEqual([]);
  });
});

describe('when', () => {
  function judged(when: CountEventOptions['when']) {
    class Judged {
      @CountEvent('counted', { ...EACH, when })
      call(_key: string, outcome: () => unknown): unknown {
        return outcome();
      }
    }
    return Judged;
  }
  const fail = (error: unknown) => () => {
    throw error as Error;
  };
  const run = async (when: CountEventOptions['when'], outcomes: Record<string, () => unknown>) => {
    const calls = await open(judged(when));
    for (const [key, outcome] of Object.entries(outcomes)) {
      await Promise.resolve()
        .then(() => calls.call(key, outcome))
        .catch(() => undefined);
    }
    return keys();
  };
  const OUTCOMES = {
    value: () => 1,
    nothing: () => undefined,
    resolved: () => Promise.resolve(2),
    thrown: fail(BROKEN),
    undefinedThrown: fail(undefined),
    rejected: () => Promise.reject(BROKEN),
  };

  it.each([
    ['throws', ['thrown', 'undefinedThrown', 'rejected']],
    [undefined, ['thrown', 'undefinedThrown', 'rejected']],
    ['returns', ['value', 'nothing', 'resolved']],
  ] as const)('%s counts %j', async (when, expected) => {
    expect(await run(when, OUTCOMES)).toEqual(expected);
  });

  it('may be a function of the outcome, which has an error or a result', async () => {
    const seen: MethodOutcome[] = [];
    const counted = await run((outcome) => {
      seen.push(outcome);
      return outcome.result === 2 || outcome.error === BROKEN;
    }, OUTCOMES);
    expect(counted).toEqual(['resolved', 'thrown', 'rejected']);
    expect(seen).toEqual([
      { result: 1 },
      { result: undefined },
      { result: 2 },
      { error: BROKEN },
      { error: undefined },
      { error: BROKEN },
    ]);
    expect(seen.map((outcome) => Object.keys(outcome)).slice(3)).toEqual([
      ['error'],
      ['error'],
      ['error'],
    ]);
  });

  it('is logged once when it fails, and the caller gets what the method gave', async () => {
    const calls = await open(
      judged(() => {
        throw new Error('cannot tell');
      }),
    );
    expect(calls.call('a', () => 1)).toBe(1);
    expect(calls.call('a', () => 1)).toBe(1);
    expect(await keys()).toEqual([]);
    expect(app!.log.lines).toEqual([
      expect.stringMatching(/when: failed, so the call was not counted: cannot tell$/),
    ]);
  });
});

it.each([
  ['undefined', () => undefined],
  ['an empty text', () => ''],
  ['an object', () => ({ $ne: null }) as unknown as string],
])('an event for %s is counted under the key of nobody', async (_, by) => {
  class Calls {
    @CountEvent('counted', { ...EACH, by, when: 'returns' })
    call() {}
  }
  const calls = await open(Calls);
  calls.call();
  expect(await keys()).toEqual(['']);
});

it('an event whose `by` fails is counted under the key of nobody, and logged once', async () => {
  class Calls {
    @CountEvent('counted', {
      ...EACH,
      by: (body: { email: string }) => body.email,
      when: 'returns',
    })
    call(_body: unknown) {}
  }
  const calls = await open(Calls);
  calls.call(undefined);
  calls.call(undefined);
  expect(await keys()).toEqual(['', '']);
  expect(app!.log.lines).toHaveLength(1);
  expect(app!.log.lines[0]).toMatch(/^error Calls\.call @CountEvent by: failed/);
});

describe('it finds', () => {
  it('instances made by factories, known by several tokens, and of request scope', async () => {
    class Made {
      @CountEvent('counted', { ...EACH, when: 'returns' })
      call(_key: string) {}
    }
    class Alias {}
    @Injectable({ scope: Scope.TRANSIENT })
    class Transient extends Made {}
    app = await openAlerts('memory', [
      { provide: Made, useFactory: () => new Made() },
      { provide: Alias, useExisting: Made },
      { provide: 'listener', useExisting: Listener },
      Transient,
      Listener,
    ]);
    app.get(Made).call('factory');
    new Transient().call('transient');
    expect(await keys()).toEqual(['factory', 'transient']);
  });

  it('what a class inherits, and what it overrides and calls', async () => {
    class Base {
      @CountEvent('counted', { ...EACH, when: 'returns' })
      inherited(_key: string) {}
      @CountEvent('counted', { ...EACH, when: 'returns' })
      overridden(_key: string) {}
    }
    class Derived extends Base {
      override overridden(key: string) {
        super.overridden(`super ${key}`);
      }
    }
    const derived = await open(Derived);
    derived.inherited('a');
    derived.overridden('b');
    expect(await keys()).toEqual(['a', 'super b']);
  });

  it('several events of one method', async () => {
    class Calls {
      @CountEvent('counted', { ...EACH, by: () => 'above', when: 'returns' })
      @CountEvent('counted', { ...EACH, by: () => 'below', when: 'returns' })
      call() {
        return 1;
      }
    }
    const calls = await open(Calls);
    expect(calls.call()).toBe(1);
    expect((await keys()).sort()).toEqual(['above', 'below']);
  });
});
