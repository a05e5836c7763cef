import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { configError } from '../../lib/errors.js';
import { resolveOptions } from '../../lib/sliding-window.options.js';
import { Stores } from '../../lib/sliding-window.stores.js';
import type { RedisOption } from '../../lib/stores/redis/connection.js';
import { CUT, FakeRespServer, resp } from '../support/fake-resp-server.js';
import { openServices, type Services } from '../support/services.js';

describe("a cluster's client that is ours", () => {
  let fake: FakeRespServer;
  let services: Services;

  beforeEach(async () => {
    fake = await FakeRespServer.start((command) =>
      command[0] === 'eval' && command[1] === 'return 1' ? ':1\r\n' : resp([0, 1, 4, 0, 1000]),
    );
    services = await openServices('redis', {
      redis: { cluster: [{ host: '127.0.0.1', port: fake.port }] },
      timeout: '1s',
    });
  });

  afterEach(async () => {
    await services.close();
    await fake.stop();
  });

  /** Decisions that have reached the server; each connection is looked at as well. */
  function decisions(): string[][] {
    return fake.calls.filter((call) => call[1] !== 'return 1');
  }

  const policy = { name: 'once', rules: '5/1s' } as const;

  it('sends a decision to a node once', async () => {
    expect((await services.limiter.consume(policy, 'one')).source).toBe('redis');
    expect(decisions()).toHaveLength(1);
  });

  it('does not send again what may have run when the connection to a node broke', async () => {
    fake.reply = () => CUT;
    expect((await services.limiter.consume(policy, 'one')).source).toBe('fallback');
    // Longer than ioredis waits before it would send again.
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(decisions()).toHaveLength(1);
  });
});

describe("a cluster's client", () => {
  const NODES = [{ host: '127.0.0.1', port: 1 }];
  const storesOn = (redis: RedisOption) => new Stores(resolveOptions({ redis }));

  it.each<[string, RedisOption]>([
    ['that is to be opened', { cluster: NODES, options: { keyPrefix: '{}:' } }],
    ['whose nodes get it', { cluster: NODES, options: { redisOptions: { keyPrefix: '{}:' } } }],
    ['that is given', new Cluster(NODES, { lazyConnect: true, keyPrefix: '{}:' })],
  ])('%s is refused with a prefix that decides about slots', (_, redis) => {
    expect(() => storesOn(redis)).toThrow(configError.notOnCluster('redis', '{}:'));
  });

  it('may have any other prefix, and a single server any at all', async () => {
    const clients = [
      new Cluster(NODES, { lazyConnect: true, keyPrefix: 'app:' }),
      new Redis({ lazyConnect: true, keyPrefix: '{}:' }),
    ];
    for (const client of clients) await storesOn(client).close();
  });

  it('that was given is told of when it would send again what may have run', async () => {
    const doubts = async (options: object) => {
      const stores = storesOn(new Cluster(NODES, { lazyConnect: true, ...options }));
      await stores.close();
      return stores.doubtfulSettings;
    };
    expect(await doubts({})).toEqual([expect.stringContaining('retryDelayOnFailover is not 0')]);
    expect(await doubts({ retryDelayOnFailover: 0 })).toEqual([]);
  });
});
