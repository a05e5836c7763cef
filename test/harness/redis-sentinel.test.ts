import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RedisSentinel } from '../support/redis-sentinel.js';

let sentinel: RedisSentinel;

beforeAll(async () => {
  sentinel = await RedisSentinel.start();
}, 30_000);

afterAll(() => sentinel?.stop());

it('makes another server master when it is asked to', async () => {
  const before = await sentinel.master();
  const after = await sentinel.failover();
  expect(after.port).not.toBe(before.port);
}, 30_000);
