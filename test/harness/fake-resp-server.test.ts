import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { FakeRespServer, resp, respError, SERVER_ERRORS } from '../support/fake-resp-server.js';

let fake: FakeRespServer;
let redis: Redis;

beforeEach(async () => {
  fake = await FakeRespServer.start();
  redis = new Redis(fake.url, { maxRetriesPerRequest: 0, retryStrategy: null });
  redis.on('error', () => undefined);
});

afterEach(async () => {
  redis.disconnect();
  await fake.stop();
});

it('lets a client become ready', async () => {
  expect(await redis.ping()).toBe('PONG');
  expect(redis.status).toBe('ready');
});

it('answers a script call with what it was given', async () => {
  fake.reply = () => resp([1, 'two', [3, null]]);
  expect(await redis.evalsha('sha', 1, 'key', 'arg')).toEqual([1, 'two', [3, null]]);
  expect(fake.calls).toEqual([['evalsha', 'sha', '1', 'key', 'arg']]);
});

it.each(Object.entries(SERVER_ERRORS))('answers %s as a server words it', async (_, text) => {
  fake.reply = () => respError(text);
  await expect(redis.evalsha('sha', 0)).rejects.toThrow(text);
});

it('answers nothing at all', async () => {
  fake.reply = () => undefined;
  const call = redis.evalsha('sha', 0).catch(() => 'ended');
  expect(await Promise.race([call, redis.ping()])).toBe('PONG');
});
