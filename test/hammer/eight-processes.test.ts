import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type RedisServer, startRedis } from '../support/redis-server.js';
import { descending, Processes } from './processes.js';

const PROCESSES = 8;
const DECISIONS = 5000;
const LIMIT = 30_000;

let server: RedisServer;
let processes: Processes;

beforeAll(async () => {
  server = await startRedis();
  processes = await Processes.start(PROCESSES, server.url);
}, 60_000);

afterAll(async () => {
  await processes?.stop();
  await server?.stop();
});

it(`${PROCESSES} processes with ${DECISIONS} decisions each on one key admit exactly the limit, each place once`, async () => {
  const { admitted, denied, errors } = await processes.hammer({
    policy: { name: 'one-key', rules: { limit: LIMIT, window: '1h' }, onStoreError: 'deny' },
    subject: 'everybody',
    decisions: DECISIONS,
    callers: 64,
  });
  expect(errors).toEqual([]);
  expect(admitted).toHaveLength(LIMIT);
  expect(denied).toBe(PROCESSES * DECISIONS - LIMIT);
  const remaining = admitted.map((one) => one.remaining).sort((a, b) => b - a);
  expect(remaining).toEqual(descending(LIMIT));
}, 60_000);
