import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { ChaosProxy } from '../support/chaos-proxy.js';
import { openRedis } from '../support/services.js';

let proxy: ChaosProxy;
let through: Redis;
let direct: Redis;

beforeEach(async () => {
  direct = openRedis();
  proxy = await ChaosProxy.start(Number(new URL(process.env.REDIS_URL!).port));
  through = new Redis(proxy.url, {
    maxRetriesPerRequest: 0,
    retryStrategy: () => 10,
    db: Number(process.env.JEST_WORKER_ID ?? '0'),
  });
  through.on('error', () => undefined);
  await through.set('proxied', '0');
});

afterEach(async () => {
  through.disconnect();
  direct.disconnect();
  await proxy.stop();
});

/** What becomes of a call within 100 ms. */
function outcome(call: Promise<unknown>): Promise<string> {
  return Promise.race([
    call.then(
      () => 'answered',
      () => 'failed',
    ),
    new Promise<string>((resolve) => setTimeout(() => resolve('silent'), 100)),
  ]);
}

it('passes', async () => {
  expect(await through.incr('proxied')).toBe(1);
  expect(proxy.counts.accepted).toBe(1);
});

it('stalls, and delivers when it no longer does', async () => {
  await proxy.set('stall');
  const call = through.incr('proxied');
  expect(await outcome(call)).toBe('silent');
  expect(await direct.get('proxied')).toBe('0');
  await proxy.set('pass');
  expect(await call).toBe(1);
});

it.each(['refuse', 'reset'] as const)('ends what is open and what comes: %s', async (mode) => {
  await proxy.set(mode);
  expect(await outcome(through.incr('proxied'))).toBe('failed');
  await proxy.set('pass');
  expect(await through.incr('proxied')).toBe(1);
});

it('cuts the connection when the reply comes: the command has run', async () => {
  await proxy.set('cut-reply');
  expect(await outcome(through.incr('proxied'))).toBe('failed');
  expect(Number(await direct.get('proxied'))).toBe(1);
  expect(proxy.counts.cut).toBeGreaterThan(0);
});

it('delays replies, and gives them byte by byte', async () => {
  await proxy.set('latency', 30);
  let start = performance.now();
  await through.get('proxied');
  expect(performance.now() - start).toBeGreaterThan(28);
  await proxy.set('trickle', 5);
  start = performance.now();
  // $1\r\n0\r\n: seven bytes.
  expect(await through.get('proxied')).toBe('0');
  expect(performance.now() - start).toBeGreaterThan(25);
});
