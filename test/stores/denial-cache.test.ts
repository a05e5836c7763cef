import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { PolicyDefinition } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { openServices, type Services } from '../support/services.js';

const POLICY: PolicyDefinition = { name: 'search', rules: '2/10s' };

describe('the denial cache', () => {
  let clock: ManualClock;
  let here: Services;
  let there: Services;

  beforeEach(async () => {
    clock = new ManualClock();
    here = await openServices('redis', { clock, denyCache: { maxKeys: 3, maxAge: '4s' } });
    there = await openServices('redis', { clock, keyPrefix: here.keyPrefix });
  });
  afterEach(async () => {
    await here.close();
    await there.close();
  });

  async function exhaust(subject = 'a'): Promise<void> {
    for (let i = 0; i < 3; i++) await here.limiter.consume(POLICY, subject);
  }

  it('answers a known denial without asking, with the wait that is left', async () => {
    await exhaust();
    clock.advance('3s');
    for (let i = 0; i < 100; i++) {
      expect(await here.limiter.consume(POLICY, 'a')).toMatchObject({
        allowed: false,
        source: 'deny-cache',
        retryAfterMs: 7000,
        violated: ['search'],
        policies: [{ rules: [{ remaining: 0, resetMs: 7000, retryAfterMs: 7000 }] }],
      });
    }
  });

  it('asks for another cost, another subject and a peek', async () => {
    await exhaust();
    expect((await here.limiter.consume(POLICY, 'a', { cost: 2 })).source).toBe('redis');
    expect((await here.limiter.consume(POLICY, 'b')).source).toBe('redis');
    expect((await here.limiter.peek(POLICY, 'a')).source).toBe('redis');
  });

  it('asks again when the subject may pass', async () => {
    await exhaust();
    clock.advance(9_999);
    expect(await here.limiter.consume(POLICY, 'a')).toMatchObject({ allowed: false });
    clock.advance(1);
    expect(await here.limiter.consume(POLICY, 'a')).toMatchObject({
      allowed: true,
      source: 'redis',
    });
  });

  it.each([
    ['a reset', (services: Services) => services.limiter.reset(POLICY, 'a')],
    ['an unblock', (services: Services) => services.limiter.unblock(POLICY, 'a')],
    ['a block', (services: Services) => services.limiter.block(POLICY, 'a', '1m')],
  ])('forgets a denial on %s of this process', async (_, amend) => {
    await exhaust();
    await amend(here);
    expect((await here.limiter.consume(POLICY, 'a')).source).toBe('redis');
  });

  it('forgets a denial when a charge of the subject is given back', async () => {
    const first = await here.limiter.consume(POLICY, 'a');
    await exhaust();
    await here.limiter.refund(first);
    expect(await here.limiter.consume(POLICY, 'a')).toMatchObject({
      allowed: true,
      source: 'redis',
    });
  });

  it('asks when the rules have changed', async () => {
    await exhaust();
    const wider: PolicyDefinition = { ...POLICY, rules: '3/10s' };
    expect(await here.limiter.consume(wider, 'a')).toMatchObject({
      allowed: true,
      source: 'redis',
    });
  });

  it('sees after maxAge what another process has reset', async () => {
    await exhaust();
    await there.limiter.reset(POLICY, 'a');
    clock.advance(3_999);
    expect((await here.limiter.consume(POLICY, 'a')).source).toBe('deny-cache');
    clock.advance(1);
    expect(await here.limiter.consume(POLICY, 'a')).toMatchObject({
      allowed: true,
      source: 'redis',
    });
  });

  it('does not learn from an answer that was asked for before a reset', async () => {
    await exhaust();
    await here.limiter.reset(POLICY, 'b');
    await Promise.all([
      here.limiter.consume(POLICY, 'a', { cost: 2 }),
      here.limiter.reset(POLICY, 'a'),
    ]);
    expect((await here.limiter.consume(POLICY, 'a', { cost: 2 })).allowed).toBe(true);
  });

  it('holds at most maxKeys subjects', async () => {
    for (const subject of ['a', 'b', 'c', 'd']) await exhaust(subject);
    const sources: string[] = [];
    for (const subject of ['b', 'c', 'd', 'a']) {
      sources.push((await here.limiter.consume(POLICY, subject)).source);
    }
    expect(sources).toEqual(['deny-cache', 'deny-cache', 'deny-cache', 'redis']);
  });

  it('forgets everything when its clock steps back', async () => {
    await exhaust();
    clock.set(clock.now() - 1000);
    expect((await here.limiter.consume(POLICY, 'b')).source).toBe('redis');
    clock.set(clock.now() + 2000);
    expect((await here.limiter.consume(POLICY, 'a')).source).toBe('redis');
  });

  it('answers that a cost above the limit never passes', async () => {
    await here.limiter.consume(POLICY, 'a', { cost: 3 });
    expect(await here.limiter.consume(POLICY, 'a', { cost: 3 })).toMatchObject({
      retryAfterMs: null,
      source: 'deny-cache',
    });
  });
});
