import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { PolicyDefinition } from '../../lib/index.js';
import { FakeRespServer, resp, type RespValue } from '../support/fake-resp-server.js';
import { openServices, type Services } from '../support/services.js';

const ONE: PolicyDefinition = { name: 'one', rules: '5/1m' };
const TWO: PolicyDefinition = {
  name: 'two',
  rules: ['5/1m', { algorithm: 'token-bucket', limit: 5, window: '1m' }],
};

const number = fc.oneof(
  fc.integer(),
  fc.constantFrom(0, 1, -1, 2 ** 53, -(2 ** 53), Number.MAX_SAFE_INTEGER),
);
const { reply: anyReply } = fc.letrec<{ reply: RespValue; list: RespValue[] }>((tie) => ({
  reply: fc.oneof(
    { depthSize: 'small' },
    number,
    fc.string({ maxLength: 8 }),
    fc.constant(null),
    fc.constantFrom('1e3', 'NaN', 'ERR x', 'WRONGTYPE x'),
    tie('list'),
  ),
  list: fc.array(tie('reply'), { maxLength: 12 }) as fc.Arbitrary<RespValue[]>,
}));

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
  let services: Services;

  beforeAll(async () => {
    fake = await FakeRespServer.start();
    services = await openServices('redis', { redis: fake.url, timeout: 150 });
  });
  afterAll(async () => {
    await services.close();
    await fake.stop();
  });
  beforeEach(() => {
    fake.calls.length = 0;
  });

  function expectSound(remaining: number, limit: number, waits: readonly number[]): void {
    expect(Number.isSafeInteger(remaining) && remaining >= 0).toBe(true);
    expect(limit).toBe(5);
    for (const wait of waits) expect(wait >= 0).toBe(true);
  }

  it.each([
    ['of any kind', anyReply],
    ['that is nearly right', nearlyRight],
  ] as const)(
    'gets no request refused, hung or let through by a reply %s',
    async (_, replies) => {
      let runs = 0;
      await fc.assert(
        fc.asyncProperty(replies, async (reply) => {
          fake.reply = () => resp(reply);
          const subject = `s${runs++}`;
          for (const policy of [ONE, TWO]) {
            const decision = await services.limiter.consume(policy, subject);
            for (const { rules } of decision.policies) {
              for (const { remaining, limit, resetMs, retryAfterMs } of rules) {
                expectSound(remaining, limit, [resetMs, retryAfterMs]);
              }
            }
          }
          const count = await services.windows.calculateCount(subject, '1m');
          expect(Number.isSafeInteger(count) && count >= 0).toBe(true);
        }),
        { numRuns: 300 },
      );
    },
    60_000,
  );

  it('that is no RESP at all is a store that fails', async () => {
    for (const bytes of ['\0\0\0', 'HTTP/1.1 400 Bad Request\r\n\r\n', '*-5\r\n', '$99\r\nx\r\n']) {
      fake.reply = () => bytes;
      const { source } = await services.limiter.consume(ONE, bytes);
      expect(source).toBe('fallback');
    }
  });
});
