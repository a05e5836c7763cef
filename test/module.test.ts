import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { openRedis } from './support/services.js';
import { once } from 'node:events';
import {
  RateLimitConfigError,
  RateLimiterService,
  ScriptRunner,
  SlidingWindowModule,
  type SlidingWindowOptions,
  SlidingWindowService,
} from '../lib/index.js';

@Injectable()
class OptionsFactory {
  create(): SlidingWindowOptions {
    return { policies: { like: { rules: '2/m' } } };
  }
}

@Module({ providers: [OptionsFactory], exports: [OptionsFactory] })
class OptionsModule {}

const modules = {
  'useFactory with inject': SlidingWindowModule.forRootAsync({
    imports: [OptionsModule],
    inject: [OptionsFactory],
    useFactory: (factory: OptionsFactory) => factory.create(),
  }),
  'a promised useFactory': SlidingWindowModule.forRootAsync({
    useFactory: () => Promise.resolve(new OptionsFactory().create()),
  }),
  useClass: SlidingWindowModule.forRootAsync({ useClass: OptionsFactory }),
  useExisting: SlidingWindowModule.forRootAsync({
    imports: [OptionsModule],
    useExisting: OptionsFactory,
  }),
  forRoot: SlidingWindowModule.forRoot(new OptionsFactory().create()),
};

describe('the module', () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0)) await close();
  });

  const boot = async (imports: Parameters<typeof Test.createTestingModule>[0]['imports']) => {
    const module = await Test.createTestingModule({ imports }).compile();
    await module.init();
    closers.push(() => module.close());
    return module;
  };

  it.each(Object.entries(modules))('takes its options from %s', async (_, dynamic) => {
    const limiter = (await boot([dynamic])).get(RateLimiterService);
    const decisions = [];
    for (let i = 0; i < 3; i++) decisions.push(await limiter.consume('like', 'ann'));
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true, false]);
  });

  it('works without any options, in process', async () => {
    const module = await boot([SlidingWindowModule.forRoot()]);
    const decision = await module
      .get(RateLimiterService)
      .consume({ name: 'x', rules: '1/s' }, 'ann');
    expect(decision.source).toBe('memory');
    expect(await module.get(SlidingWindowService).calculateCount('k', '5m')).toBe(1);
    expect(module.get(ScriptRunner)).toBeFalsy();
  });

  it('is global unless it is told otherwise', async () => {
    expect(SlidingWindowModule.forRoot().global).toBe(true);
    expect(SlidingWindowModule.forRoot({ isGlobal: false }).global).toBe(false);
  });

  it('counts an option set to undefined as absent', async () => {
    await expect(
      boot([SlidingWindowModule.forRoot({ redis: undefined, timeout: undefined })]),
    ).resolves.toBeDefined();
  });

  it('refuses an unknown option at boot, in both forms', async () => {
    const wrong = { redsi: 'redis://localhost' } as SlidingWindowOptions;
    for (const dynamic of [
      SlidingWindowModule.forRoot(wrong),
      SlidingWindowModule.forRootAsync({ useFactory: () => wrong }),
    ]) {
      const failure = await boot([dynamic]).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(RateLimitConfigError);
      expect((failure as Error).message).toContain('unknown option "redsi"');
    }
  });

  it('never shows the password of a Redis URL in an error', async () => {
    const failure = await boot([
      SlidingWindowModule.forRoot({ redis: 'http://user:secret@localhost' }),
    ]).catch((error: unknown) => error);
    expect((failure as Error).message).not.toContain('secret');
  });

  it('closes the connection that it opened, and leaves open the client it was given', async () => {
    const given = new Redis(process.env.REDIS_URL!);
    closers.push(() => given.quit());
    const adopted = await boot([SlidingWindowModule.forRoot({ redis: given })]);
    expect(
      (await adopted.get(RateLimiterService).consume({ name: 'own', rules: '9/s' }, 'a')).source,
    ).toBe('redis');
    await adopted.close();
    expect(given.status).toBe('ready');

    const opened = await boot([SlidingWindowModule.forRoot({ redis: process.env.REDIS_URL! })]);
    const { client } = opened.get(ScriptRunner);
    expect(client.status).toBe('ready');
    await opened.close();
    if (client.status !== 'end') await once(client, 'end');
    expect(client.status).toBe('end');
  });

  it('runs the scripts of a user', async () => {
    const runner = (
      await boot([SlidingWindowModule.forRoot({ redis: process.env.REDIS_URL! })])
    ).get(ScriptRunner);
    const source = 'return { KEYS[1], ARGV[1] }';
    const { createHash } = await import('node:crypto');
    const script = { name: 'echo', source, sha: createHash('sha1').update(source).digest('hex') };
    expect(await runner.run(script, ['sw:k'], ['v'])).toEqual(['sw:k', 'v']);
    const admin = openRedis();
    await admin.script('FLUSH');
    admin.disconnect();
    expect(await runner.run(script, ['sw:k'], ['v'])).toEqual(['sw:k', 'v']);
  });
});
