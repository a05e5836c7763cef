import { expect, it } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { RateLimiterService, SlidingWindowModule, SlidingWindowService } from '../../lib/index.js';
import { driveTime, SlidingWindowTestingModule } from '../../lib/testing/index.js';

const like = { name: 'like', rules: '1/1m' } as const;

it('drives the time of a module, and empties it', async () => {
  const testing = SlidingWindowTestingModule.forRoot();
  const module = await Test.createTestingModule({ imports: [testing.module] }).compile();
  const limiter = module.get(RateLimiterService);
  expect((await limiter.consume(like, 'a')).allowed).toBe(true);
  expect((await limiter.consume(like, 'a')).allowed).toBe(false);
  testing.advance('1m');
  expect((await limiter.consume(like, 'a')).allowed).toBe(true);
  testing.resetAll(module);
  expect((await limiter.consume(like, 'a')).allowed).toBe(true);
});

it('takes over an application that is configured for Redis', async () => {
  const builder = Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot({ redis: 'redis://127.0.0.1:1' })],
  });
  const time = driveTime(builder);
  const module = await builder.compile();
  await module.init();
  expect((await module.get(RateLimiterService).consume(like, 'a')).source).toBe('memory');
  const windows = module.get(SlidingWindowService);
  expect(await windows.calculateCount('k', '10s')).toBe(1);
  time.advance('10s');
  expect(await windows.count('k', '10s')).toBe(0);
  await module.close();
});

it('wakes a call that waits for capacity', async () => {
  const testing = SlidingWindowTestingModule.forRoot();
  const module = await Test.createTestingModule({ imports: [testing.module] }).compile();
  const limiter = module.get(RateLimiterService);
  await limiter.consume(like, 'a');
  const waiting = limiter.waitFor(like, 'a', { maxWait: '2m' });
  await new Promise(setImmediate);
  testing.advance('1m');
  expect((await waiting).allowed).toBe(true);
  expect((await limiter.waitFor(like, 'a', { maxWait: '1s' })).allowed).toBe(false);
});
