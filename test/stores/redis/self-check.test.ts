import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { SlidingWindowOptions, StoreEvent } from '../../../lib/index.js';
import { freePort, type RedisServer, startRedis } from '../../support/redis-server.js';
import { openServices } from '../../support/services.js';

describe('the self-check of Redis', () => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    jest.restoreAllMocks();
    for (const close of closers.splice(0).reverse()) await close();
  });

  async function redis(...args: string[]): Promise<RedisServer> {
    const server = await startRedis(args);
    closers.push(() => server.stop('SIGKILL'));
    return server;
  }

  async function open(options: SlidingWindowOptions): Promise<readonly StoreEvent[]> {
    const services = await openServices('redis', options);
    closers.push(() => services.close());
    return services.events;
  }

  const codesOf = (events: readonly StoreEvent[]) =>
    events.flatMap((event) =>
      event.type === 'self-check' ? [event.check.problems.map(({ code }) => code)] : [],
    );

  it('finds nothing wrong with a server as the documentation asks for', async () => {
    const events = await open({});
    expect(codesOf(events)).toEqual([[]]);
  });

  it('tells the version', async () => {
    const { url } = await redis();
    expect(await open({ redis: url })).toMatchObject([
      { type: 'self-check', check: { version: expect.stringMatching(/^\d+\.\d+\.\d+$/) } },
    ]);
  });

  it('warns of a memory policy that drops keys, once memory is limited', async () => {
    const { url } = await redis('--maxmemory-policy', 'allkeys-lru');
    expect(codesOf(await open({ redis: url }))).toEqual([[]]);
    const limited = await redis('--maxmemory', '100mb', '--maxmemory-policy', 'volatile-ttl');
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    expect(codesOf(await open({ redis: limited.url }))).toEqual([['evicts-keys']]);
    expect(warn.mock.calls.flat().join()).toMatch(/maxmemory-policy volatile-ttl drops keys/);
  });

  it('warns of a user who may not run scripts', async () => {
    const { url, port } = await redis();
    const admin = new Redis(url);
    await admin.call('ACL', 'SETUSER', 'reader', 'on', '>p', '~*', '+@all', '-eval', '-evalsha');
    admin.disconnect();
    expect(codesOf(await open({ redis: `redis://reader:p@127.0.0.1:${port}` }))).toEqual([
      ['scripts-refused'],
    ]);
  });

  it('warns of a replica, and looks again at a new connection', async () => {
    const master = await redis();
    const replica = await redis('--replicaof', '127.0.0.1', String(master.port));
    const events = await open({ redis: replica.url });
    expect(codesOf(events)).toEqual([['replica']]);
    const admin = new Redis(replica.url);
    await admin.replicaof('NO', 'ONE');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
    admin.disconnect();
    for (let i = 0; i < 100 && codesOf(events).length < 2; i++) await delay(50);
    expect(codesOf(events)[1]).toEqual([]);
  });

  it('warns of a server that cannot be asked, and starts nevertheless', async () => {
    const port = await freePort();
    expect(codesOf(await open({ redis: `redis://127.0.0.1:${port}` }))).toEqual([['unreachable']]);
  });

  it('ends the start where strict is set', async () => {
    const port = await freePort();
    await expect(open({ redis: `redis://127.0.0.1:${port}`, strict: true })).rejects.toMatchObject({
      code: 'SW_SELF_CHECK',
      message: expect.stringContaining('it cannot be asked'),
    });
    const { url } = await redis();
    expect(codesOf(await open({ redis: url, strict: true }))).toEqual([[]]);
  });

  it('names the settings of a given client that break a promise, once', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const client = new Redis(process.env.REDIS_URL!, { stringNumbers: true });
    closers.push(() => client.disconnect());
    await open({ redis: client });
    const warnings = warn.mock.calls.map(([text]) => String(text));
    expect(warnings).toEqual([
      expect.stringMatching(/maxRetriesPerRequest is not 0/),
      expect.stringMatching(/stringNumbers is true/),
    ]);
  });
});
