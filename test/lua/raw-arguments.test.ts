import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { loadScripts, type Script } from '../../lib/stores/redis/scripts.js';
import { openRedis } from '../support/services.js';

const scripts = loadScripts();
const NOW = '1767225600000';

/** What no number may be, as a text. */
const BAD = [
  ...['nan', 'inf', '-inf', '-1', '1.5', '', '0x', 'ten', '1e400'],
  ...['9007199254740992', '1e308', 'null', '{}'],
];
/** A number, and far too large for what it says. */
const LARGEST = '9007199254740991';

/** A call that is right; each place of `args` is then spoiled in turn. */
interface Call {
  readonly name: string;
  readonly script: Script;
  readonly args: readonly string[];
  /** Places that hold counts of what follows, or sizes: the largest number is refused there too. */
  readonly counts: readonly number[];
  /** Places that must not be 0. */
  readonly positive: readonly number[];
  /** Places that hold no number. */
  readonly texts: readonly number[];
  /** The first reply of a call that is right. */
  readonly reply: unknown;
}

const numbersOf = {
  'fixed-window': ['5', '60000'],
  'sliding-counter': ['5', '10000', '6', '6'],
  'sliding-log': ['5', '60000'],
  'token-bucket': ['5', '60000', '5'],
} as const;
type Name = keyof typeof numbersOf;
const names = Object.keys(numbersOf) as Name[];

/** Sizes within the numbers: a log's length, a ring's slices. */
const sizesIn: Partial<Record<Name, readonly number[]>> = {
  'sliding-log': [0],
  'sliding-counter': [2, 3],
};

const from = (first: number, places: readonly number[]) => places.map((place) => first + place);
const afterLimit = (name: Name) => numbersOf[name].slice(1).map((_, i) => i + 1);

const calls: readonly Call[] = [
  ...names.map((name): Call => {
    const numbers = numbersOf[name];
    return {
      name: `decide-one ${name}`,
      script: scripts.decideOne[name],
      args: [NOW, '1', '1', String(numbers.length), '1', '0', ...numbers],
      counts: [1, 2, 3, ...from(6, sizesIn[name] ?? [])],
      positive: [2, 3, ...from(6, afterLimit(name))],
      texts: [],
      reply: 1,
    };
  }),
  ...names.map((name): Call => {
    const numbers = numbersOf[name];
    const head = [NOW, 'decide', '1', '0', '1', '0', '1', name, '1', String(numbers.length)];
    return {
      name: `decide-all ${name}`,
      script: scripts.decideAll,
      args: [...head, ...numbers],
      counts: [2, 6, 8, 9, ...from(10, sizesIn[name] ?? [])],
      positive: [2, 6, 8, 9, ...from(10, afterLimit(name))],
      texts: [1, 3],
      reply: 1,
    };
  }),
  ...names.flatMap((name): Call[] => {
    const numbers = numbersOf[name];
    return [
      {
        name: `refund ${name}`,
        script: scripts.amend,
        args: [NOW, 'refund', String(numbers.length + 3), name, '1', NOW, ...numbers],
        counts: [2],
        positive: [2, ...from(6, afterLimit(name))],
        texts: [],
        reply: [],
      },
      {
        name: `block ${name}`,
        script: scripts.amend,
        args: [NOW, 'block', String(numbers.length + 2), name, '5000', ...numbers],
        counts: [2],
        positive: [2, ...from(5, afterLimit(name))],
        texts: [],
        reply: [],
      },
    ];
  }),
  {
    name: 'event-log.record',
    script: scripts.count,
    args: [NOW, 'event-log.record', '4', '60000', 'member', '5', '0'],
    counts: [],
    positive: [3],
    // The flag is '1' or not, and what ends the arguments is not counted.
    texts: [2, 4, 6],
    reply: [1, 0],
  },
  {
    name: 'event-log.timeline',
    script: scripts.count,
    args: [NOW, 'event-log.timeline', '2', '60000', '3'],
    counts: [4],
    positive: [3, 4],
    texts: [2],
    reply: [0, 0, 0],
  },
  {
    name: 'slice-ring.add',
    script: scripts.count,
    args: [NOW, 'slice-ring.add', '3', '1000', '60', '1'],
    counts: [4],
    positive: [3, 4],
    texts: [2],
    reply: [1, 1],
  },
  {
    name: 'slice-ring.read',
    script: scripts.count,
    args: [NOW, 'slice-ring.read', '2', '1000', '3'],
    counts: [4],
    positive: [3, 4],
    texts: [2],
    reply: [0, 0, 0, 0, 0, 0],
  },
];

describe.each(calls.map((call) => [call.name, call] as const))('%s', (_, call) => {
  let redis: Redis;
  const key = 'raw';

  beforeAll(() => {
    redis = openRedis();
  });
  afterAll(async () => {
    await redis.del(key);
    redis.disconnect();
  });

  /** The first reply, on a fresh key; an error as its text. */
  async function run(args: readonly string[]): Promise<unknown> {
    await redis.del(key);
    try {
      const reply = (await redis.eval(call.script.source, 1, key, ...args)) as unknown[];
      return reply[1] instanceof Error ? reply[1].message : reply[1];
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Refused: a text that says why, and nothing left for ever. */
  async function expectRefused(args: readonly string[]) {
    const reply = await run(args);
    expect([args, reply]).toEqual([args, expect.any(String)]);
    expect([args, await redis.pttl(key)]).not.toEqual([args, -1]);
  }

  const places = call.args.map((_, i) => i).filter((i) => !call.texts.includes(i));

  it('works when it is called rightly', async () => {
    expect(await run(call.args)).toEqual(call.reply);
  });

  it('refuses what is no number from 0 to 2^53 - 1', async () => {
    for (const place of places) {
      for (const bad of BAD) {
        // An empty time asks the server for it.
        if (place === 0 && bad === '') continue;
        await expectRefused(call.args.with(place, bad));
      }
    }
  });

  it('refuses 0 where nothing can be meant by it', async () => {
    for (const place of call.positive) await expectRefused(call.args.with(place, '0'));
  });

  it('refuses counts and sizes that would keep the server busy', async () => {
    const began = performance.now();
    for (const place of call.counts) await expectRefused(call.args.with(place, LARGEST));
    expect(performance.now() - began).toBeLessThan(2000);
  });

  it('admits nothing and leaves nothing for ever when arguments are missing', async () => {
    for (let length = 0; length < call.args.length; length++) {
      const reply = await run(call.args.slice(0, length));
      expect([length, reply]).not.toEqual([length, 1]);
      expect([length, await redis.pttl(key)]).not.toEqual([length, -1]);
    }
  });
});

describe('bad arguments in a call of several decisions', () => {
  it('fail their own decision alone', async () => {
    const redis = openRedis();
    const run = (cost: string) => ['1', '1', '2', cost, '0', '5', '60000'];
    const reply = (await redis.eval(
      scripts.decideOne['sliding-log'].source,
      3,
      ...['raw:a', 'raw:b', 'raw:c'],
      ...[NOW, ...run('1'), ...run('-1'), ...run('2')],
    )) as unknown[];
    expect(reply).toEqual([
      Number(NOW),
      ...[1, 4, 0, 60_000],
      ...[expect.stringContaining('SWARG'), 0, 0, 0],
      ...[1, 3, 0, 60_000],
    ]);
    expect(await redis.exists('raw:b')).toBe(0);
    await redis.del('raw:a', 'raw:c');
    redis.disconnect();
  });
});
