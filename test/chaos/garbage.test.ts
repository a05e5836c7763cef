import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import type { Decision, PolicyDefinition } from '../../lib/index.js';
import { chargeOf, compilePolicy } from '../../lib/limiting/policies.js';
import { Keys } from '../../lib/stores/keys.js';
import { RedisCounterStore } from '../../lib/stores/redis/redis-counter.store.js';
import { RedisStore } from '../../lib/stores/redis/redis.store.js';
import { ScriptRunner } from '../../lib/stores/redis/script-runner.js';
import { loadScripts } from '../../lib/stores/redis/scripts.js';
import { StoreError } from '../../lib/stores/store-error.js';
import { FakeRespServer, resp, type RespValue } from '../support/fake-resp-server.js';

const DEFAULTS = { onStoreError: 'local', shadow: false } as const;

const ONE: PolicyDefinition = { name: 'one', rules: '5/1m' };
const TWO: PolicyDefinition = {
  name: 'two',
  rules: ['5/1m', { algorithm: 'token-bucket', limit: 5, window: '1m' }],
};

const number = fc.oneof(
  fc.integer(),
  fc.constantFrom(0, 1, -1, 2 ** 53, -(2 ** 53), Number.MAX_SAFE_INTEGER),
);
const anyReply: fc.Arbitrary<RespValue> = fc.letrec<{ reply: RespValue }>((tie) => ({
  reply: fc.oneof(
    { depthSize: 'small' },
    number,
    fc.string({ maxLength: 8 }),
    fc.constant(null),
    fc.constantFrom('1e3', 'NaN', 'ERR x', 'WRONGTYPE x'),
    fc.array(tie('reply'), { maxLength: 12 }),
  ),
})).reply;

/** Like an answer in everything but one field. */
const nearlyRight = fc
  .tuple(fc.nat(7), fc.oneof(number, fc.constant(null), fc.constant('5'), fc.constant([])))
  .map(([place, value]): RespValue => {
    const fields: RespValue[] = [1_760_000_000_000, 1, 1, 4, 0, 60_000, 4, 0];
    fields[place] = value;
    return fields;
  });

describe('a server that answers garbage', () => {
  let fake: FakeRespServer;
  let client: Redis;
  let limits: RedisStore;
  let counters: RedisCounterStore;

  beforeAll(async () => {
    fake = await FakeRespServer.start();
    client = new Redis(fake.url, { maxRetriesPerRequest: 0 });
    client.on('error', () => undefined);
    await once(client, 'ready');
    // Without the breaker, which would soon keep every other reply from being read.
    const runner = new ScriptRunner(client);
    const scripts = loadScripts();
    limits = new RedisStore(runner, scripts, new Keys('sw'), undefined);
    counters = new RedisCounterStore(runner, scripts, new Keys('sw'), undefined);
  });
  afterAll(async () => {
    client.disconnect();
    await fake.stop();
  });

  /** What a store gives; undefined for a failure of the store, the only one there may be. */
  async function answerOf<T>(question: Promise<T>): Promise<T | undefined> {
    return question.catch((error: unknown) => {
      expect(error).toBeInstanceOf(StoreError);
      return undefined;
    });
  }

  function expectSound(decision: Decision | undefined): void {
    for (const { rules, allowed } of decision?.policies ?? []) {
      expect(rules.every(({ retryAfterMs }) => retryAfterMs === 0)).toBe(allowed);
      for (const { remaining, limit, resetMs, retryAfterMs } of rules) {
        expect(limit).toBe(5);
        expect(Number.isSafeInteger(remaining) && remaining >= 0).toBe(true);
        expect(resetMs >= 0 && retryAfterMs >= 0).toBe(true);
      }
    }
  }

  it.each([
    ['of any kind', anyReply],
    ['that is nearly right', nearlyRight],
  ] as const)(
    'fails as a store, or says what can be, by a reply %s',
    async (_, replies) => {
      await fc.assert(
        fc.asyncProperty(replies, async (reply) => {
          fake.reply = () => resp(reply);
          for (const policy of [ONE, TWO]) {
            const charge = chargeOf(compilePolicy(policy, DEFAULTS, 'policy'), 'a', 1);
            expectSound(await answerOf(limits.decide([charge])));
            expectSound(await answerOf(limits.peek([charge])));
            await answerOf(limits.refund(charge, 1, 0));
          }
          const counted = await answerOf(counters.record('k', 1000, undefined, 3, true));
          if (counted !== undefined) expect(counted.count).toBeGreaterThanOrEqual(0);
          for (const part of (await answerOf(counters.timeline('k', 1000, 2))) ?? []) {
            expect(Number.isSafeInteger(part) && part >= 0).toBe(true);
          }
        }),
        { numRuns: 500 },
      );
    },
    60_000,
  );

  it('that is no RESP at all is a store that fails', async () => {
    for (const bytes of ['\0\0\0', 'HTTP/1.1 400 Bad Request\r\n\r\n', '*-5\r\n']) {
      fake.reply = () => bytes;
      const charge = chargeOf(compilePolicy(ONE, DEFAULTS, 'policy'), 'a', 1);
      await expect(limits.decide([charge])).rejects.toBeInstanceOf(StoreError);
      if (client.status !== 'ready') await once(client, 'ready');
    }
  });
});
