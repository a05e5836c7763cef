import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { chargesOf, type Decision, partsOf } from '../../lib/decision.js';
import type { PolicyDefinition, Rule, SlidingWindowOptions } from '../../lib/index.js';
import { chargeOf, compilePolicy, type LimitPolicy } from '../../lib/limiting/policies.js';
import type { Charge, CounterStore, LimitStore } from '../../lib/stores/store.js';
import { BoundedMap, type Entry, type Space } from '../../lib/stores/memory/bounded-map.js';
import { MemoryCounterStore } from '../../lib/stores/memory/memory-counter.store.js';
import { MemoryStore } from '../../lib/stores/memory/memory.store.js';
import { resolveOptions } from '../../lib/sliding-window.options.js';
import { Stores } from '../../lib/sliding-window.stores.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';

/** One step of a program. */
export type Step =
  | { op: 'advance'; ms: number }
  | { op: 'consume'; cost: number; blockMs?: number }
  | { op: 'peek' | 'reset' | 'unblock' }
  | { op: 'refund'; back: number; cost: number }
  | { op: 'block'; ms: number }
  | { op: 'change'; to: number }
  | { op: 'count'; key: string; windowMs: number; id?: string; threshold: number; clear: boolean }
  | { op: 'look'; key: string; windowMs: number; buckets: number }
  | { op: 'remove'; key: string; id: string }
  | { op: 'add'; by: number }
  | { op: 'read' | 'forget' };

export interface Program {
  /** What applies at first, and what a change puts in its place. */
  readonly policies: readonly (readonly Policy[])[];
  readonly steps: readonly Step[];
}

export interface Policy {
  readonly rules: readonly Rule[];
  readonly shadow?: boolean;
}

/** Programs of one run; the seed of a failure is printed, and taken again from this variable. */
const SEED = process.env.DIFFERENTIAL_SEED;
/**
 * Keys in Redis expire by its own clock, a second after their window, while the time of a program
 * stands still: windows are so long that no pause of the machine lets a key go.
 */
export const WINDOW = 20_000;
const SLICES = 5;

interface Kept {
  readonly limits: LimitStore;
  readonly counters: CounterStore;
}

/**
 * Forgets nothing: beside the time of a program that of Redis' expiry stands still, and a clock that
 * steps back over an expiry would find in Redis what is gone from here.
 */
class EternalMap extends BoundedMap<unknown> {
  override get(space: Space<unknown>, key: string): Entry<unknown> | undefined {
    return super.get(space, key, -Infinity);
  }

  override open(space: Space<unknown>, key: string): Entry<unknown> {
    return super.open(space, key, -Infinity);
  }
}

function inProcess(clock: ManualClock, entries: BoundedMap<unknown>): Kept {
  return {
    limits: new MemoryStore(entries, clock),
    counters: new MemoryCounterStore(entries, clock),
  };
}

/** Two stores, driven by one clock. */
export interface Pair {
  readonly clock: ManualClock;
  readonly both: readonly [Kept, Kept];
  open(): Promise<void>;
  close(): void | Promise<void>;
}

/** Redis under a prefix of its own. */
function inRedis(clock: ManualClock, options: SlidingWindowOptions = {}): Stores {
  return new Stores(
    resolveOptions({
      redis: process.env.REDIS_URL!,
      keyPrefix: `sw:d${randomBytes(6).toString('hex')}`,
      clock,
      timeout: '10s',
      denyCache: false,
      ...options,
    }),
  );
}

/** The in-process store and Redis, which may be a cluster. */
export function memoryAndRedis(options: SlidingWindowOptions = {}): Pair {
  const clock = new ManualClock(Date.UTC(2026, 0, 1) + 12_345);
  const redis = inRedis(clock, options);
  return {
    clock,
    both: [inProcess(clock, new EternalMap(1_000_000)), redis],
    open: () => redis.open(),
    close: () => redis.close(),
  };
}

/** Redis, and Redis behind the denial cache. */
export function withAndWithoutDenialCache(): Pair {
  const clock = new ManualClock(Date.UTC(2026, 0, 1) + 12_345);
  const both = [inRedis(clock), inRedis(clock, { denyCache: { maxAge: '1d' } })] as const;
  return {
    clock,
    both,
    open: async () => {
      for (const stores of both) await stores.open();
    },
    close: async () => {
      for (const stores of both) await stores.close();
    },
  };
}

/** The in-process store as it is, and one that forgets nothing. */
export function withAndWithoutExpiry(): Pair {
  const clock = new ManualClock(Date.UTC(2026, 0, 1) + 12_345);
  return {
    clock,
    both: [
      inProcess(clock, new EternalMap(1_000_000)),
      inProcess(clock, new BoundedMap(1_000_000)),
    ],
    open: () => Promise.resolve(),
    close: () => undefined,
  };
}

let programs = 0;

/** Every answer of one store to a program, in the order of its steps. */
class Run {
  private readonly decisions: Decision[] = [];
  /** As in an application, where a policy is compiled once. */
  private readonly compiled = new Map<Policy, LimitPolicy>();

  constructor(
    private readonly stores: Kept,
    private readonly id: number,
  ) {}

  async step(step: Step, policies: readonly Policy[]): Promise<unknown> {
    const { limits, counters } = this.stores;
    const charges = (cost: number, blockMs = 0) =>
      policies.map((policy, i) => this.charge(policy, i, cost, blockMs));
    const [first] = charges(1);
    const key = (name: string) => `${this.id}-${name}`;
    switch (step.op) {
      case 'advance':
      case 'change':
        return undefined;
      case 'consume': {
        const decision = await limits.decide(charges(step.cost, step.blockMs));
        this.decisions.push(decision);
        return plain(decision);
      }
      case 'peek':
        return plain(await limits.peek(charges(1)));
      case 'refund': {
        const decision = this.decisions.at(-1 - step.back);
        if (decision === undefined) return undefined;
        for (const part of partsOf(decision)!) {
          for (const charge of chargesOf<Charge>(part)) {
            if (charge.cost > 0)
              await limits.refund(charge, Math.min(step.cost, charge.cost), part.decidedAt);
          }
        }
        return plain(await limits.peek(charges(1)));
      }
      case 'reset':
        return limits.reset(first!);
      case 'block':
        return limits.block(first!, step.ms);
      case 'unblock':
        return limits.block(first!, 0);
      case 'count':
        return counters.record(key(step.key), step.windowMs, step.id, step.threshold, step.clear);
      case 'look':
        return [
          await counters.count(key(step.key), step.windowMs),
          await counters.timeline(key(step.key), step.windowMs, step.buckets),
        ];
      case 'remove':
        return counters.remove(key(step.key), step.id);
      case 'add':
        return counters.addToSlice(key('ring'), WINDOW / SLICES, SLICES, step.by);
      case 'read':
        return counters.readSlices(key('ring'), WINDOW / SLICES, SLICES);
      case 'forget':
        return counters.clearSlices(key('ring'), WINDOW / SLICES, SLICES);
    }
  }

  private charge(written: Policy, i: number, cost: number, blockMs: number) {
    let policy = this.compiled.get(written);
    if (policy === undefined) {
      const { rules, shadow = false } = written;
      const definition: PolicyDefinition = { name: `p${i}`, rules, shadow };
      policy = compilePolicy(definition, { onStoreError: 'local', shadow: false }, 'policy');
      this.compiled.set(written, policy);
    }
    return { ...chargeOf(policy, `subject-${this.id}`, cost), blockMs };
  }
}

function plain({ source: _, ...rest }: Decision): unknown {
  return { ...rest };
}

/** Both stores give the same answers, in every field or as far as `seen`. */
export async function expectSame(
  pair: Pair,
  { policies, steps }: Program,
  seen: (answer: unknown) => unknown = (answer) => answer,
): Promise<void> {
  const id = programs++;
  const runs = pair.both.map((stores) => new Run(stores, id));
  let active = policies[0]!;
  for (const [i, step] of steps.entries()) {
    if (step.op === 'advance') pair.clock.set(pair.clock.now() + step.ms);
    if (step.op === 'change') active = policies[step.to % policies.length]!;
    const [first, second] = await Promise.all(runs.map((run) => run.step(step, active)));
    expect({ step: i, answer: seen(second) }).toEqual({ step: i, answer: seen(first) });
  }
}

/** Declares the tests of one kind of program: first the failures of the past, then random ones. */
export function describePrograms(
  arbitrary: fc.Arbitrary<Program>,
  numRuns: number,
  regressions: readonly Program[] = [],
  stores: () => Pair = memoryAndRedis,
  seen?: (answer: unknown) => unknown,
): void {
  let pair: Pair;

  beforeAll(async () => {
    pair = stores();
    await pair.open();
  });

  afterAll(() => pair.close());

  regressions.forEach((program, i) => {
    it(`decides alike where it once did not: number ${i + 1}`, async () => {
      await expectSame(pair, program, seen);
    });
  });

  it(`decides alike in ${numRuns} random programs`, async () => {
    const seed = SEED === undefined ? {} : { seed: Number(SEED) };
    await fc.assert(
      fc.asyncProperty(arbitrary, (program) => expectSame(pair, program, seen)),
      { numRuns, ...seed },
    );
  }, 120_000);
}

/** Times that meet the edges of windows and slices, and steps back. */
const advance: fc.Arbitrary<Step> = fc
  .oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 1500 }) },
    { weight: 4, arbitrary: fc.constantFrom(1, 1000, 2000, 4000, 5000, 10_000, WINDOW) },
    { weight: 3, arbitrary: fc.constantFrom(WINDOW - 1, WINDOW + 1, 2 * WINDOW, 7 * WINDOW) },
    { weight: 2, arbitrary: fc.constantFrom(-1, -1000, -WINDOW, -10 * WINDOW) },
  )
  .map((ms) => ({ op: 'advance', ms }));

const limitStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: advance },
  {
    weight: 10,
    arbitrary: fc.record({
      op: fc.constant('consume' as const),
      cost: fc.constantFrom(1, 1, 1, 1, 2, 3, 0, 7),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('consume' as const),
      cost: fc.constant(1),
      blockMs: fc.constantFrom(1000, WINDOW, 3 * WINDOW),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Step>({ op: 'peek' }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('refund' as const),
      back: fc.integer({ min: 0, max: 2 }),
      cost: fc.integer({ min: 1, max: 3 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ op: 'reset' }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constant('block' as const),
      ms: fc.constantFrom(1000, 5000, 3 * WINDOW),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ op: 'unblock' }) },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constant('change' as const),
      to: fc.integer({ min: 0, max: 2 }),
    }),
  },
);

const windows = fc.constantFrom(WINDOW, 2 * WINDOW, WINDOW + 7);
const limits = fc.integer({ min: 0, max: 6 });

/** Rules of each algorithm, with small limits. */
export const RULES = {
  'sliding-log': fc.record({ limit: limits, window: windows }),
  'fixed-window': fc.record({
    algorithm: fc.constant('fixed-window' as const),
    limit: limits,
    window: windows,
  }),
  'sliding-counter': fc.record({
    algorithm: fc.constant('sliding-counter' as const),
    limit: limits,
    window: windows,
    slices: fc.constantFrom(1, 2, 5, 10),
  }),
  'token-bucket': fc.record({
    algorithm: fc.constant('token-bucket' as const),
    limit: limits,
    refill: fc.constantFrom(1, 3, 7),
    window: windows,
  }),
} satisfies Record<string, fc.Arbitrary<Rule>>;

/** A longer window needs at least the limit of a shorter one. */
function valid(rules: readonly Rule[]): boolean {
  const counted = rules.filter(
    (rule) => typeof rule === 'object' && rule.algorithm !== 'token-bucket',
  ) as { limit: number; window: number }[];
  return counted.every((a) => counted.every((b) => a.window <= b.window || a.limit >= b.limit));
}

/** Programs over one policy at a time, of rules of one kind or of several. */
export function limitPrograms(rule: fc.Arbitrary<Rule>, policies = 1): fc.Arbitrary<Program> {
  const rules = fc.array(rule, { minLength: 1, maxLength: 3 }).filter(valid);
  const policy = fc.record({
    rules,
    shadow: policies === 1 ? fc.constant(false) : fc.constantFrom(false, false, true),
  });
  return fc.record({
    policies: fc.array(fc.array(policy, { minLength: policies, maxLength: policies }), {
      minLength: 1,
      maxLength: 3,
    }),
    steps: fc.array(limitStep, { minLength: 3, maxLength: 16 }),
  });
}

const keys = fc.constantFrom('a', 'a', 'b');
const ids = fc.constantFrom('x', 'y', '__proto__', '=', ':');
const spans = fc.constantFrom(WINDOW, WINDOW / 2, 3 * WINDOW);

const counterStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: advance },
  {
    weight: 8,
    arbitrary: fc.record(
      {
        op: fc.constant('count' as const),
        key: keys,
        windowMs: spans,
        id: ids,
        threshold: fc.constantFrom(0, 1, 3),
        clear: fc.boolean(),
      },
      { requiredKeys: ['op', 'key', 'windowMs', 'threshold', 'clear'] },
    ),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constant('look' as const),
      key: keys,
      windowMs: spans,
      buckets: fc.integer({ min: 1, max: 7 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('remove' as const), key: keys, id: ids }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ op: fc.constant('add' as const), by: fc.integer({ min: 1, max: 9 }) }),
  },
  { weight: 3, arbitrary: fc.constant<Step>({ op: 'read' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ op: 'forget' }) },
);

/** The same programs with a clock that never steps back. */
export function forwardOnly(programs: fc.Arbitrary<Program>): fc.Arbitrary<Program> {
  return programs.map((program) => ({
    ...program,
    steps: program.steps.filter((step) => step.op !== 'advance' || step.ms >= 0),
  }));
}

export const counterPrograms: fc.Arbitrary<Program> = fc.record({
  policies: fc.constant([[]]),
  steps: fc.array(counterStep, { minLength: 3, maxLength: 16 }),
});
