import { expect, it, describe } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { RateLimiterService, SlidingWindowModule, SlidingWindowService } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';

describe.each(['memory', 'redis'])('%s', (store) => {
  it('works', async () => {
    const clock = new ManualClock();
    const mod = await Test.createTestingModule({
      imports: [
        SlidingWindowModule.forRoot({
          clock,
          ...(store === 'redis' ? { redis: process.env.REDIS_URL! } : {}),
        }),
      ],
    }).compile();
    await mod.init();
    const limiter = mod.get(RateLimiterService);
    const windows = mod.get(SlidingWindowService);
    const out: unknown[] = [];
    for (const rules of [
      [
        { limit: 2, window: '10s' },
        { limit: 3, window: '1m' },
      ],
      [{ algorithm: 'fixed-window', limit: 2, window: '10s' }],
      [{ algorithm: 'sliding-counter', limit: 2, window: '10s', slices: 10 }],
      [{ algorithm: 'token-bucket', limit: 2, refill: 1, window: '10s' }],
      [
        { algorithm: 'token-bucket', limit: 2, refill: 1, window: '10s' },
        { limit: 2, window: '10s' },
      ],
    ] as any) {
      const policy = { name: 'p' + out.length, rules };
      for (let i = 0; i < 3; i++) {
        out.push(await limiter.consume(policy, 'u'));
        clock.advance('1s');
      }
      out.push(await limiter.peek(policy, 'u'));
      await limiter.block(policy, 'u', '1m');
      out.push(await limiter.peek(policy, 'u'));
      await limiter.unblock(policy, 'u');
      clock.advance('10s');
      const d = await limiter.consume(policy, 'u');
      out.push(d);
      await limiter.refund(d);
      out.push(await limiter.peek(policy, 'u'));
      await limiter.reset(policy, 'u');
      out.push(await limiter.peek(policy, 'u'));
    }
    out.push(
      await windows.calculateCount('k', '10s'),
      await windows.calculateCount('k', '10s', { id: 'a' }),
      await windows.calculateCount('k', '10s', { id: 'a' }),
    );
    out.push(
      await windows.timeline('k', '10s', 5),
      await windows.clearOnCondition('k', '10s', 3),
      await windows.count('k', '10s'),
    );
    const s = windows.sliced('k', { slice: '1s', window: '5s' });
    out.push(await s.increment(), await s.increment(5));
    clock.advance('3s');
    out.push(await s.increment(), await s.timeline(), await s.windowSum(), await s.sliceValue());
    (globalThis as any).outs ??= [];
    (globalThis as any).outs.push(
      JSON.stringify(out, (k, v) => (k === 'source' ? undefined : v), 1),
    );
    await mod.close();
    if ((globalThis as any).outs.length === 2) {
      expect((globalThis as any).outs[1]).toEqual((globalThis as any).outs[0]);
      console.log((globalThis as any).outs[0].slice(0, 3000));
    }
  });
});
