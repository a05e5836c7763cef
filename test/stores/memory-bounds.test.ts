import { afterEach, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  RateLimiterService,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/index.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

let module: TestingModule;
afterEach(() => module.close());

async function open(options: SlidingWindowOptions): Promise<RateLimiterService> {
  module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options)],
  }).compile();
  await module.init();
  return module.get(RateLimiterService);
}

const three = { name: 'three', rules: '3/1h' } as const;

function timers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
}

it('stays bounded under a flood of a million keys, which frees no limited key', async () => {
  const limiter = await open({ memory: { maxKeys: 10_000 } });
  for (let i = 0; i < 4; i++) await limiter.consume(three, 'limited');
  for (let i = 0; i < 20_000; i++) await limiter.consume(three, `warm-up-${i}`);
  collectGarbage();
  const heap = process.memoryUsage().heapUsed;
  const before = timers();
  for (let i = 0; i < 1_000_000; i++) await limiter.consume(three, `key-${i}`);
  collectGarbage();
  expect(timers()).toBe(before);
  expect(process.memoryUsage().heapUsed - heap).toBeLessThan(8 * 1024 * 1024);
  expect((await limiter.consume(three, 'limited')).allowed).toBe(false);
});

it('gives up expired keys before any other', async () => {
  const clock = new ManualClock();
  const limiter = await open({ clock, memory: { maxKeys: 3 } });
  const brief = { name: 'brief', rules: '3/1s' } as const;
  await limiter.consume(three, 'oldest');
  await limiter.consume(brief, 'a');
  await limiter.consume(brief, 'b');
  clock.advance('5s');
  await limiter.consume(three, 'c');
  await limiter.consume(three, 'd');
  for (const key of ['oldest', 'c', 'd']) {
    expect((await limiter.peek(three, key)).policies[0]!.rules[0]!.remaining).toBe(2);
  }
});

it('keeps nothing of the request in which a key was made', async () => {
  const limiter = await open({});
  const storage = new AsyncLocalStorage<object>();
  const refs: WeakRef<object>[] = [];
  for (let i = 0; i < 100; i++) {
    const payload = { large: new Array<number>(1000).fill(i) };
    refs.push(new WeakRef(payload));
    await storage.run(payload, () => limiter.consume(three, `key-${i}`));
  }
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collectGarbage();
  }
  expect(refs.filter((ref) => ref.deref() !== undefined).length).toBeLessThanOrEqual(1);
});

it('keeps windows that are longer than a timer', async () => {
  const clock = new ManualClock();
  const limiter = await open({ clock });
  const year = { name: 'year', rules: [{ limit: 2, window: '365d' }] } as const;
  const allowed: boolean[] = [];
  for (const wait of ['1ms', '30d', '300d', '35d'] as const) {
    allowed.push((await limiter.consume(year, 'a')).allowed);
    clock.advance(wait);
  }
  expect(allowed).toEqual([true, true, false, false]);
  expect((await limiter.consume(year, 'a')).allowed).toBe(true);
});
