import { Redis } from 'ioredis';
import { freePorts, type RedisServer, startRedis } from './redis-server.js';

export const SLOTS = 16_384;

/** One server of a cluster, and a connection to it alone. */
export interface ClusterNode {
  readonly port: number;
  /** Where the nodes talk to each other. */
  readonly busPort: number;
  readonly id: string;
  readonly server: RedisServer;
  readonly redis: Redis;
}

/** Three masters with a replica each, unless other numbers are asked for. */
export interface ClusterOptions {
  readonly masters?: number;
  readonly replicasPerMaster?: number;
  readonly nodeTimeoutMs?: number;
}

/** A Redis Cluster that a test has started, and stops. */
export class RedisCluster {
  private constructor(private readonly all: readonly ClusterNode[]) {}

  static async start(options: ClusterOptions = {}): Promise<RedisCluster> {
    const { masters = 3, replicasPerMaster = 1, nodeTimeoutMs = 1000 } = options;
    const count = masters * (1 + replicasPerMaster);
    const ports = await freePorts(2 * count);
    const nodes = await Promise.all(
      ports.slice(0, count).map((port, i) => startNode(port, ports[count + i]!, nodeTimeoutMs)),
    );
    const cluster = new RedisCluster(nodes);
    try {
      await cluster.create(masters);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  /** What a client is told: ports of nodes that run. */
  get seeds(): { host: string; port: number }[] {
    return this.nodes().map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  /** Those that run. */
  nodes(): ClusterNode[] {
    return this.all.filter(({ server }) => isRunning(server));
  }

  async slotOf(key: string): Promise<number> {
    return this.nodes()[0]!.redis.cluster('KEYSLOT', key);
  }

  /** The master of a key or of a slot, as the running nodes know it. */
  async masterOf(keyOrSlot: string | number): Promise<ClusterNode> {
    const slot = typeof keyOrSlot === 'number' ? keyOrSlot : await this.slotOf(keyOrSlot);
    const claims = await Promise.all(
      this.nodes().map(async (node) => ({
        node,
        self: parseNode(await clusterNodes(node), node.id),
      })),
    );
    const [owner] = claims
      .filter(({ self }) => self.isMaster && self.owns(slot))
      // After a failover the old master may not know yet.
      .sort((a, b) => b.self.epoch - a.self.epoch);
    if (owner === undefined) throw new Error(`no running master has slot ${slot}`);
    return owner.node;
  }

  async masters(): Promise<ClusterNode[]> {
    const roles = await Promise.all(this.nodes().map(({ redis }) => redis.role()));
    return this.nodes().filter((_, i) => roles[i]![0] === 'master');
  }

  async replicasOf(master: ClusterNode): Promise<ClusterNode[]> {
    const roles = await Promise.all(this.nodes().map(({ redis }) => redis.role()));
    return this.nodes().filter((_, i) => roles[i]![0] === 'slave' && roles[i]![2] === master.port);
  }

  /** Opens a migration; `moveKeys` and `settle` go on with it, in as many steps as a test wants. */
  async beginMigration(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    await to.redis.call('CLUSTER', 'SETSLOT', String(slot), 'IMPORTING', from.id);
    await from.redis.call('CLUSTER', 'SETSLOT', String(slot), 'MIGRATING', to.id);
  }

  /** Moves keys that `from` has, all of the slot or those named; tells how many. */
  async moveKeys(
    slot: number,
    from: ClusterNode,
    to: ClusterNode,
    keys?: readonly string[],
  ): Promise<number> {
    const chosen = keys ?? (await from.redis.cluster('GETKEYSINSLOT', slot, 10_000));
    if (chosen.length === 0) return 0;
    await from.redis.call(
      'MIGRATE',
      ...['127.0.0.1', String(to.port), '', '0', '5000', 'KEYS', ...chosen],
    );
    return chosen.length;
  }

  /** Tells every master whose the slot is: the new one first, as Redis asks for. */
  async settle(slot: number, to: ClusterNode): Promise<void> {
    const others = (await this.masters()).filter((node) => node !== to);
    for (const node of [to, ...others]) {
      await node.redis.call('CLUSTER', 'SETSLOT', String(slot), 'NODE', to.id);
    }
    // Moved again before they agree on its epoch, a slot can end up with nobody.
    await until('every node knows whose the slot is', async () => {
      const views = await Promise.all(this.nodes().map(clusterNodes));
      const seen = views.map((view) => parseNode(view, to.id));
      return seen.every((one) => one.owns(slot) && one.epoch === seen[0]!.epoch);
    });
  }

  /** All of a migration: keys that come up while it runs are moved too. */
  async migrateSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void> {
    await this.beginMigration(slot, from, to);
    while ((await this.moveKeys(slot, from, to)) > 0);
    await this.settle(slot, to);
  }

  /** A failover that loses nothing: the replica takes over when it has all its master has. */
  async failover(replica: ClusterNode): Promise<void> {
    const [, , port] = await replica.redis.role();
    const old = this.nodes().find((node) => node.port === port)!;
    await replica.redis.call('CLUSTER', 'FAILOVER');
    await until('replica and master have changed places', async () => {
      const roles = await Promise.all([replica.redis.role(), old.redis.role()]);
      return roles[0][0] === 'master' && roles[1][0] === 'slave';
    });
  }

  async kill(node: ClusterNode): Promise<void> {
    node.redis.disconnect();
    await node.server.stop('SIGKILL');
  }

  pause(node: ClusterNode): void {
    node.server.process.kill('SIGSTOP');
  }

  resume(node: ClusterNode): void {
    node.server.process.kill('SIGCONT');
  }

  /** Every running node sees all slots served, and every replica follows its master. */
  async untilOk(): Promise<void> {
    await until('the cluster is ok', async () => {
      const infos = await Promise.all(this.nodes().map(({ redis }) => redis.cluster('INFO')));
      return infos.every(
        (info) => info.includes('cluster_state:ok') && info.includes('cluster_slots_ok:16384'),
      );
    });
    await until('the replicas follow', async () => {
      const roles = await Promise.all(this.nodes().map(({ redis }) => redis.role()));
      return roles.every(([role, , , state]) => role === 'master' || state === 'connected');
    });
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.all.map(async ({ redis, server }) => {
        redis.disconnect();
        await server.stop('SIGKILL');
      }),
    );
  }

  /** The nodes meet, the first ones share the slots, and the others follow them. */
  private async create(masters: number): Promise<void> {
    const [first, ...others] = this.all as [ClusterNode, ...ClusterNode[]];
    await Promise.all(
      this.all.slice(0, masters).map(({ redis }, i) => {
        const from = Math.floor((i * SLOTS) / masters);
        const to = Math.floor(((i + 1) * SLOTS) / masters) - 1;
        return redis.call('CLUSTER', 'ADDSLOTSRANGE', String(from), String(to));
      }),
    );
    await Promise.all(
      this.all.map(({ redis }, i) => redis.call('CLUSTER', 'SET-CONFIG-EPOCH', String(i + 1))),
    );
    for (const { port, busPort } of others) {
      await first.redis.call('CLUSTER', 'MEET', '127.0.0.1', String(port), String(busPort));
    }
    await until('every node knows every other', async () => {
      const lists = await Promise.all(this.all.map(clusterNodes));
      return lists.every(
        (list) => list.trim().split('\n').length === this.all.length && !list.includes('handshake'),
      );
    });
    await Promise.all(
      this.all
        .slice(masters)
        .map(({ redis }, i) => redis.call('CLUSTER', 'REPLICATE', this.all[i % masters]!.id)),
    );
    await this.untilOk();
  }
}

async function startNode(port: number, busPort: number, timeoutMs: number): Promise<ClusterNode> {
  const server = await startRedis(
    [
      ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
      ...['--cluster-announce-ip', '127.0.0.1', '--cluster-node-timeout', String(timeoutMs)],
      // A replica copies its master at once, and stays electable however long it was alone.
      ...['--repl-diskless-sync-delay', '0', '--cluster-replica-validity-factor', '0'],
      ...['--enable-debug-command', 'local'],
    ],
    port,
  );
  const redis = new Redis(server.url);
  // A node that a test has killed is no news.
  redis.on('error', () => undefined);
  return { port, busPort, id: await redis.cluster('MYID'), server, redis };
}

function isRunning({ process }: RedisServer): boolean {
  return process.exitCode === null && process.signalCode === null;
}

function clusterNodes({ redis }: ClusterNode): Promise<string> {
  return redis.call('CLUSTER', 'NODES') as Promise<string>;
}

/** `<id> <address> <flags> <master> <ping> <pong> <epoch> <link> <range> …` */
function parseNode(list: string, id: string) {
  const fields = list
    .split('\n')
    .find((line) => line.startsWith(id))!
    .trim()
    .split(' ');
  const ranges = fields.slice(8).map((range) => range.split('-').map(Number));
  return {
    isMaster: fields[2]!.includes('master'),
    epoch: Number(fields[6]),
    owns: (slot: number) => ranges.some(([from, to = from]) => slot >= from! && slot <= to!),
  };
}

/** Looks again every few milliseconds; fails with what was awaited. */
export async function until(
  what: string,
  holds: () => boolean | Promise<boolean>,
  withinMs = 15_000,
): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`waited ${withinMs} ms for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
