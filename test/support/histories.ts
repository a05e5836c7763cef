import fc from 'fast-check';
import type { PlainRule } from './reference-model.js';
import type { StoreName } from './services.js';

/** One step: time passes, then so many units are asked for. */
export interface Step {
  readonly wait: number;
  readonly cost: number;
}

/** Where histories start: not a round number, so that edges of windows fall anywhere. */
export const START = Date.UTC(2026, 0, 1) + 12_345;

type Named = NonNullable<PlainRule['algorithm']>;

/**
 * Windows of a few milliseconds meet their edges often. Redis expires keys by its own clock, a second
 * after their window: there they are so long that no pause of the test lets a key go.
 */
const WINDOWS = {
  memory: fc.integer({ min: 1, max: 60 }),
  redis: fc.integer({ min: 20_000, max: 60_000 }),
};

/** One rule of each algorithm, with small limits. */
export function rulesFor(store: StoreName): Readonly<Record<Named, fc.Arbitrary<PlainRule>>> {
  const window = WINDOWS[store];
  const limit = fc.integer({ min: 0, max: 6 });
  return {
    'sliding-log': fc.record({ algorithm: fc.constant('sliding-log'), limit, window }),
    'fixed-window': fc.record({ algorithm: fc.constant('fixed-window'), limit, window }),
    'sliding-counter': window.chain((length) =>
      fc.record({
        algorithm: fc.constant('sliding-counter'),
        limit,
        window: fc.constant(length),
        slices: fc.integer({ min: 1, max: Math.min(length, 8) }),
      }),
    ),
    'token-bucket': fc.record({
      algorithm: fc.constant('token-bucket'),
      limit,
      window,
      refill: fc.integer({ min: 1, max: 9 }),
    }),
  };
}

/** A longer window needs at least the limit of a shorter one: limits are put in the windows' order. */
export function meaningful(rules: readonly PlainRule[]): PlainRule[] {
  const counted = rules.filter((rule) => rule.algorithm !== 'token-bucket');
  const limits = counted.map((rule) => rule.limit).sort((a, b) => a - b);
  const byWindow = [...counted].sort((a, b) => Number(a.window) - Number(b.window));
  return rules.map((rule) =>
    rule.algorithm === 'token-bucket' ? rule : { ...rule, limit: limits[byWindow.indexOf(rule)]! },
  );
}

/** Mostly nothing, exactly a window, and one millisecond beside it: where mistakes live. */
export function stepsFor(rules: readonly PlainRule[], length = 40): fc.Arbitrary<Step[]> {
  const windows = rules.map((rule) => Number(rule.window));
  const limits = rules.map((rule) => rule.limit);
  const wait = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(0, 0, 1, 2) },
    { weight: 3, arbitrary: fc.constantFrom(...windows.flatMap((w) => [w - 1, w, w + 1, 2 * w])) },
    { weight: 3, arbitrary: fc.integer({ min: 0, max: Math.max(...windows) }) },
    { weight: 1, arbitrary: fc.constantFrom(100_000, 10_000_000) },
  );
  const cost = fc.oneof(
    { weight: 6, arbitrary: fc.constant(1) },
    { weight: 2, arbitrary: fc.integer({ min: 0, max: 4 }) },
    { weight: 1, arbitrary: fc.constantFrom(...limits.flatMap((l) => [l, l + 1])) },
  );
  return fc.array(fc.record({ wait, cost }), { minLength: 1, maxLength: length });
}

/** Rules and a history that fits them. */
export function historyOf(
  rules: fc.Arbitrary<readonly PlainRule[]>,
): fc.Arbitrary<{ rules: PlainRule[]; steps: Step[] }> {
  return rules.chain((some) => {
    const fitting = meaningful(some);
    return fc.record({ rules: fc.constant(fitting), steps: stepsFor(fitting) });
  });
}
