import { Redis } from 'ioredis';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './redis-cluster.js';
import { freePort, type RedisServer, startRedis } from './redis-server.js';

export const MASTER_NAME = 'limits';

export interface SentinelOptions {
  readonly replicas?: number;
  readonly sentinels?: number;
  readonly downAfterMs?: number;
}

/** A master, its replicas and the sentinels that watch them, started and stopped by a test. */
export class RedisSentinel {
  private readonly folder = mkdtempSync(join(tmpdir(), 'sliding-window-sentinel-'));
  private readonly servers: RedisServer[] = [];
  private readonly watchers: RedisServer[] = [];

  private constructor(private readonly options: Required<SentinelOptions>) {}

  static async start(options: SentinelOptions = {}): Promise<RedisSentinel> {
    const sentinel = new RedisSentinel({ replicas: 1, sentinels: 3, downAfterMs: 500, ...options });
    try {
      await sentinel.open();
    } catch (error) {
      await sentinel.stop();
      throw error;
    }
    return sentinel;
  }

  /** What the option `redis` takes. */
  get connection(): { sentinels: { host: string; port: number }[]; name: string } {
    const sentinels = this.watchers.map(({ port }) => ({ host: '127.0.0.1', port }));
    return { sentinels, name: MASTER_NAME };
  }

  /** The server that the sentinels call master. */
  async master(): Promise<RedisServer> {
    const address = await this.ask((redis) =>
      redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER_NAME),
    );
    const port = Number((address as [string, string])[1]);
    return this.servers.find((server) => server.port === port)!;
  }

  /** Asked for: the old master lives on as a replica. Resolves when the sentinels name another. */
  async failover(): Promise<RedisServer> {
    const before = await this.master();
    await this.ask((redis) => redis.call('SENTINEL', 'FAILOVER', MASTER_NAME));
    await this.untilMasterIsNot(before);
    return this.master();
  }

  /** Resolves when the sentinels have made another server master, and it takes writes. */
  async untilMasterIsNot(before: RedisServer): Promise<void> {
    await until('the sentinels name another master', async () => {
      const master = await this.master();
      return master.port !== before.port && (await roleOf(master)) === 'master';
    });
  }

  /** Without a word to anybody. */
  async killMaster(): Promise<RedisServer> {
    const master = await this.master();
    await master.stop('SIGKILL');
    return master;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.watchers, ...this.servers].map((server) => server.stop('SIGKILL')));
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async open(): Promise<void> {
    const { replicas, sentinels } = this.options;
    const plain = ['--repl-diskless-sync-delay', '0'];
    const master = await startRedis(plain);
    this.servers.push(master);
    for (let i = 0; i < replicas; i++) {
      this.servers.push(
        await startRedis([...plain, '--replicaof', '127.0.0.1', String(master.port)]),
      );
    }
    await until('the replicas follow', async () => {
      const roles = await Promise.all(this.servers.slice(1).map(linkOf));
      return roles.every((state) => state === 'connected');
    });
    for (let i = 0; i < sentinels; i++) this.watchers.push(await this.watch(i, master));
    await until('the sentinels know each other and the replicas', async () => {
      const seen = await Promise.all(this.watchers.map(knownBy));
      return seen.every((one) => one.replicas === replicas && one.sentinels === sentinels);
    });
  }

  private async watch(number: number, master: RedisServer): Promise<RedisServer> {
    const { sentinels, downAfterMs } = this.options;
    const file = join(this.folder, `sentinel-${number}.conf`);
    const port = await freePort();
    // Sentinels announce themselves every two seconds; until then a failover cannot be agreed on.
    writeFileSync(
      file,
      [
        `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} ${Math.floor(sentinels / 2) + 1}`,
        `sentinel down-after-milliseconds ${MASTER_NAME} ${downAfterMs}`,
        `sentinel failover-timeout ${MASTER_NAME} ${4 * downAfterMs}`,
      ].join('\n'),
    );
    return startRedis([], port, [file, '--sentinel']);
  }

  private async ask<T>(question: (redis: Redis) => Promise<T>): Promise<T> {
    return asking(this.watchers[0]!, question);
  }
}

async function asking<T>(server: RedisServer, question: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(server.url, { protocol: 2 });
  try {
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

async function roleOf(server: RedisServer): Promise<string> {
  return asking(server, async (redis) => (await redis.role())[0] as string);
}

async function linkOf(server: RedisServer): Promise<unknown> {
  return asking(server, async (redis) => (await redis.role())[3]);
}

/** How many replicas and sentinels a sentinel knows, itself included. */
async function knownBy(sentinel: RedisServer): Promise<{ replicas: number; sentinels: number }> {
  const line = await asking(sentinel, (redis) => redis.info('sentinel'));
  const [, replicas, sentinels] = /slaves=(\d+),sentinels=(\d+)/.exec(line) ?? [];
  return { replicas: Number(replicas), sentinels: Number(sentinels) };
}
