import assert from 'node:assert/strict';
import type { SlidingWindowService } from '../counting/sliding-window.service.js';
import type { Decision } from '../decision.js';
import type { RateLimiterService } from '../limiting/rate-limiter.service.js';
import type { PolicyDefinition } from '../rules/policy.js';
import type { Rule } from '../rules/rule.js';
import { ManualClock } from './manual-clock.js';

/** What a test runner gives: Jest's, Vitest's and node:test's functions fit. */
export interface Runner {
  /** Groups tests. */
  readonly describe: (name: string, declare: () => void) => unknown;
  /** Declares a test. */
  readonly it: (name: string, run: () => Promise<void>) => unknown;
}

/** The services of a module that is on the store to be tested, and how to close it. */
export interface OpenedStore {
  readonly limiter: RateLimiterService;
  readonly windows: SlidingWindowService;
  /** Called once, when the suite is through. */
  close(): Promise<void>;
}

const MINUTE = 60_000;
const SLICES = 6;

/** A rule of each algorithm: so many units in a minute, and all of them back after `backMs`. */
const RULES: Readonly<Record<string, { rule: (limit: number) => Rule; backMs: number }>> = {
  'sliding-log': { rule: (limit) => ({ limit, window: MINUTE }), backMs: MINUTE },
  'fixed-window': {
    rule: (limit) => ({ algorithm: 'fixed-window', limit, window: MINUTE }),
    backMs: MINUTE,
  },
  'sliding-counter': {
    rule: (limit) => ({ algorithm: 'sliding-counter', limit, window: MINUTE, slices: SLICES }),
    backMs: MINUTE + MINUTE / SLICES,
  },
  'token-bucket': {
    rule: (limit) => ({
      algorithm: 'token-bucket',
      limit,
      refill: Math.max(limit, 1),
      window: MINUTE,
    }),
    backMs: MINUTE,
  },
};

const ODD_SUBJECTS = [
  ...['{', '}', '{}', ':', '|', '%', '#', '%00', '\0', '\r\n', ' ', 'ü', '\ud800', '\udc00'],
  ...['__proto__', 'constructor', 'a'.repeat(16_384), 'a'.repeat(16_385)],
];

/**
 * The promises of every store, as tests: those that run here on the in-process store and on Redis.
 * Time is driven, so windows of a minute take no time.
 *
 * @param open Opens a module with `clock` and nothing else in its store.
 *
 * @example
 * describeStore({ describe, it }, 'my Redis', async (clock) => {
 *   const module = await Test.createTestingModule({
 *     imports: [SlidingWindowModule.forRoot({ clock, redis, keyPrefix: randomUUID() })],
 *   }).compile();
 *   await module.init();
 *   return {
 *     limiter: module.get(RateLimiterService),
 *     windows: module.get(SlidingWindowService),
 *     close: () => module.close(),
 *   };
 * });
 */
export function describeStore(
  { describe, it }: Runner,
  name: string,
  open: (clock: ManualClock) => Promise<OpenedStore>,
): void {
  /** A minute that has just begun, so that fixed windows are whole. */
  const declare = (
    title: string,
    run: (store: OpenedStore, clock: ManualClock) => Promise<void>,
  ): void => {
    it(title, async () => {
      const clock = new ManualClock(Date.UTC(2026, 0, 1));
      const store = await open(clock);
      try {
        await run(store, clock);
      } finally {
        await store.close();
      }
    });
  };

  describe(`${name} keeps the promises of a store`, () => {
    for (const [algorithm, { rule, backMs }] of Object.entries(RULES)) {
      describe(algorithm, () => {
        describeAlgorithm(declare, rule, backMs);
      });
    }
    describe('decisions', () => describeDecisions(declare));
    describe('counters', () => describeCounters(declare));
  });
}

type Declare = (
  title: string,
  run: (store: OpenedStore, clock: ManualClock) => Promise<void>,
) => void;

async function repeat(times: number, run: () => Promise<Decision>): Promise<boolean[]> {
  const allowed: boolean[] = [];
  for (let i = 0; i < times; i++) allowed.push((await run()).allowed);
  return allowed;
}

function describeAlgorithm(declare: Declare, rule: (limit: number) => Rule, backMs: number): void {
  const policy = (limit: number): PolicyDefinition => ({ name: 'p', rules: [rule(limit)] });

  declare('admits the limit and no more, and counts down what remains', async ({ limiter }) => {
    for (const remaining of [2, 1, 0]) {
      const { allowed, policies } = await limiter.consume(policy(3), 'a');
      assert.equal(allowed, true);
      assert.equal(policies[0]!.rules[0]!.remaining, remaining);
    }
    const denied = await limiter.consume(policy(3), 'a');
    assert.equal(denied.allowed, false);
    assert.deepEqual(denied.violated, ['p']);
    assert.equal((await limiter.consume(policy(3), 'b')).allowed, true);
  });

  declare('tells truthfully when to come back', async ({ limiter }, clock) => {
    await limiter.consume(policy(2), 'a', { cost: 2 });
    clock.set(clock.now() + 1234);
    const { retryAfterMs } = await limiter.consume(policy(2), 'a');
    assert.ok(retryAfterMs !== null && retryAfterMs > 0);
    const start = clock.now();
    for (const wait of [1, retryAfterMs >> 1, retryAfterMs - 1]) {
      clock.set(start + wait);
      assert.equal((await limiter.consume(policy(2), 'a')).allowed, false);
    }
    clock.set(start + retryAfterMs);
    assert.equal((await limiter.consume(policy(2), 'a')).allowed, true);
  });

  declare('is whole again after resetMs', async ({ limiter }, clock) => {
    const { policies } = await limiter.consume(policy(3), 'a', { cost: 3 });
    assert.equal(policies[0]!.rules[0]!.resetMs, backMs);
    clock.set(clock.now() + backMs);
    assert.equal((await limiter.peek(policy(3), 'a')).policies[0]!.rules[0]!.remaining, 3);
    assert.equal((await limiter.consume(policy(3), 'a', { cost: 3 })).allowed, true);
  });

  declare('takes several units or none', async ({ limiter }) => {
    assert.equal((await limiter.consume(policy(5), 'a', { cost: 3 })).allowed, true);
    assert.equal((await limiter.consume(policy(5), 'a', { cost: 3 })).allowed, false);
    assert.equal((await limiter.consume(policy(5), 'a', { cost: 2 })).allowed, true);
  });

  declare('says never to a cost above the limit, and to all where it is 0', async ({ limiter }) => {
    for (const decision of [
      await limiter.consume(policy(2), 'a', { cost: 3 }),
      await limiter.consume(policy(0), 'b'),
    ]) {
      assert.equal(decision.allowed, false);
      assert.equal(decision.retryAfterMs, null);
      assert.equal(decision.policies[0]!.rules[0]!.retryAfterMs, Infinity);
    }
  });

  declare('is changed neither by a look nor by a denial', async ({ limiter }, clock) => {
    await limiter.consume(policy(2), 'a', { cost: 2 });
    for (let i = 0; i < 5; i++) {
      await limiter.peek(policy(2), 'a');
      await limiter.consume(policy(2), 'a');
    }
    clock.set(clock.now() + backMs);
    assert.deepEqual(await repeat(3, () => limiter.consume(policy(2), 'a')), [true, true, false]);
  });

  declare('gives back what is refunded, once, and never above the limit', async ({ limiter }) => {
    const decision = await limiter.consume(policy(3), 'a', { cost: 2 });
    await limiter.refund(decision, 1);
    assert.equal((await limiter.peek(policy(3), 'a')).policies[0]!.rules[0]!.remaining, 2);
    for (let i = 0; i < 3; i++) await limiter.refund(decision);
    assert.equal((await limiter.peek(policy(3), 'a')).policies[0]!.rules[0]!.remaining, 3);
  });

  declare(
    'gives nothing back once the units have left by themselves',
    async ({ limiter }, clock) => {
      const decision = await limiter.consume(policy(2), 'a', { cost: 2 });
      clock.set(clock.now() + backMs);
      await limiter.consume(policy(2), 'a', { cost: 2 });
      await limiter.refund(decision);
      assert.equal((await limiter.consume(policy(2), 'a')).allowed, false);
    },
  );

  declare('applies a changed limit at the next decision', async ({ limiter }) => {
    await limiter.consume(policy(2), 'a', { cost: 2 });
    assert.equal((await limiter.consume(policy(3), 'a')).allowed, true);
    assert.equal((await limiter.consume(policy(1), 'a')).allowed, false);
  });

  declare('admits no more when the clock steps back', async ({ limiter }, clock) => {
    await limiter.consume(policy(2), 'a', { cost: 2 });
    for (const step of [1000, MINUTE, 10 * MINUTE]) {
      clock.set(clock.now() - step);
      assert.equal((await limiter.consume(policy(2), 'a')).allowed, false);
    }
    clock.set(clock.now() + 2 * backMs);
    assert.equal((await limiter.consume(policy(2), 'a')).allowed, true);
  });

  declare('keeps a blocked subject out, and forgets it on reset', async ({ limiter }, clock) => {
    await limiter.block(policy(2), 'a', '10m');
    const { allowed, retryAfterMs } = await limiter.consume(policy(2), 'a');
    assert.deepEqual({ allowed, retryAfterMs }, { allowed: false, retryAfterMs: 10 * MINUTE });
    await limiter.unblock(policy(2), 'a');
    assert.equal((await limiter.consume(policy(2), 'a')).allowed, true);
    await limiter.block(policy(2), 'a', '10m');
    clock.advance('10m');
    assert.equal((await limiter.consume(policy(2), 'a')).allowed, true);
    await limiter.reset(policy(2), 'a');
    assert.deepEqual(await repeat(3, () => limiter.consume(policy(2), 'a')), [true, true, false]);
  });
}

function describeDecisions(declare: Declare): void {
  declare('charge all rules of a policy or none', async ({ limiter }) => {
    const rules = Object.values(RULES).map(({ rule }, i) => rule(i + 2));
    const mixed: PolicyDefinition = { name: 'mixed', rules };
    assert.deepEqual(await repeat(3, () => limiter.consume(mixed, 'a')), [true, true, false]);
    const { policies } = await limiter.peek(mixed, 'a');
    assert.deepEqual(
      policies[0]!.rules.map(({ remaining }) => remaining),
      [0, 1, 2, 3],
    );
  });

  declare(
    'keep a subject out after a denial, where a block is asked for',
    async ({ limiter }, clock) => {
      const login: PolicyDefinition = { name: 'login', rules: '1/1m', blockFor: '10m' };
      await limiter.consume(login, 'a');
      assert.equal((await limiter.consume(login, 'a')).retryAfterMs, 10 * MINUTE);
      clock.advance('5m');
      assert.equal((await limiter.consume(login, 'a')).retryAfterMs, 5 * MINUTE);
      clock.advance('5m');
      assert.equal((await limiter.consume(login, 'a')).allowed, true);
    },
  );

  declare('report what a shadow policy would have denied', async ({ limiter }) => {
    const shadow: PolicyDefinition = { name: 'shadow', rules: '1/1m', shadow: true };
    const seen = [await limiter.consume(shadow, 'a'), await limiter.consume(shadow, 'a')];
    assert.deepEqual(
      seen.map((decision) => [decision.allowed, decision.shadow]),
      [
        [true, false],
        [true, true],
      ],
    );
  });

  declare('count every subject under its own key', async ({ limiter }) => {
    const once: PolicyDefinition = { name: 'once', rules: '1/1m' };
    for (const subject of ODD_SUBJECTS) {
      assert.equal((await limiter.consume(once, subject)).allowed, true);
    }
    for (const subject of ODD_SUBJECTS) {
      assert.equal((await limiter.consume(once, subject)).allowed, false);
    }
  });

  declare('start anew when the window changes', async ({ limiter }) => {
    await limiter.consume({ name: 'p', rules: '1/1m' }, 'a');
    assert.equal((await limiter.consume({ name: 'p', rules: '1/2m' }, 'a')).allowed, true);
  });
}

function describeCounters(declare: Declare): void {
  declare(
    'count an event in [t, t + window), and those of one moment apart',
    async ({ windows }, clock) => {
      assert.equal(await windows.calculateCount('k', '10s'), 1);
      assert.equal(await windows.calculateCount('k', '10s'), 2);
      clock.set(clock.now() + 9_999);
      assert.equal(await windows.count('k', '10s'), 2);
      clock.set(clock.now() + 1);
      assert.equal(await windows.count('k', '10s'), 0);
    },
  );

  declare('count an id once in a window', async ({ windows }, clock) => {
    assert.equal(await windows.calculateCount('k', '10s', { id: 'x' }), 1);
    clock.advance('9s');
    assert.equal(await windows.calculateCount('k', '10s', { id: 'x' }), 1);
    clock.advance('1s');
    assert.equal(await windows.calculateCount('k', '10s', { id: 'x' }), 1);
    assert.equal(await windows.remove('k', 'x'), true);
    assert.equal(await windows.remove('k', 'x'), false);
    assert.equal(await windows.count('k', '10s'), 0);
  });

  declare(
    'tell a threshold, and forget the events where that is asked for',
    async ({ windows }) => {
      assert.equal(await windows.keepCalculate('k', '10s', 2), false);
      assert.equal(await windows.keepCalculate('k', '10s', 2), true);
      assert.equal(await windows.clearOnCondition('k', '10s', 3), true);
      assert.equal(await windows.count('k', '10s'), 0);
      assert.equal(await windows.clearOnCondition('k', '10s', 3), false);
    },
  );

  declare('draw a timeline whose sum is the count', async ({ windows }, clock) => {
    for (let i = 0; i < 4; i++) {
      await windows.calculateCount('k', '10s');
      clock.advance('2s');
    }
    assert.deepEqual(await windows.timeline('k', '10s', 5), [1, 1, 1, 1, 0]);
    await windows.clear('k');
    assert.equal(await windows.count('k', '10s'), 0);
  });

  declare('count slices and their window after any idle time', async ({ windows }, clock) => {
    const calls = windows.sliced('k', { slice: '1s', window: '3s' });
    assert.deepEqual(await calls.increment(), { slice: 1, window: 1 });
    clock.advance('1s');
    assert.deepEqual(await calls.increment(2), { slice: 2, window: 3 });
    assert.deepEqual(await calls.timeline(), [0, 0, 1, 2]);
    clock.advance('2s');
    assert.deepEqual([await calls.sliceValue(), await calls.windowSum()], [0, 3]);
    for (const idle of ['1s', '4s', '1h', '365d'] as const) {
      clock.advance(idle);
      assert.equal(await calls.sliceValue(), 0);
    }
    assert.deepEqual(await calls.increment(), { slice: 1, window: 1 });
    await calls.clear();
    assert.equal(await calls.windowSum(), 0);
  });
}
