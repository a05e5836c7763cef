import { createRequire } from 'node:module';
import type * as Ioredis from 'ioredis';
import type { Cluster, ClusterNode, ClusterOptions, Redis, RedisOptions } from './ioredis.js';
import { checkKeys, configError } from '../../errors.js';
import type { RedisClient } from './script-runner.js';

/** Where Redis is: a URL, ioredis options, nodes of a cluster, or a client that stays yours. */
export type RedisOption =
  string | RedisOptions | { cluster: ClusterNode[]; options?: ClusterOptions } | Redis | Cluster;

/** A client and whether it is ours to close. */
export interface Connection {
  readonly client: RedisClient;
  readonly owned: boolean;
}

/** Checks the form only; nothing of the value is shown, because it may hold a password. */
export function parseRedisOption(value: unknown, path: string): RedisOption {
  if (typeof value === 'string') {
    if (!/^(rediss?|unix):\/\/.|^\//.test(value)) {
      throw configError.badValue(path, 'the string given', `a URL like 'redis://localhost:6379'`);
    }
    return value;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw configError.badValue(
      path,
      value,
      'a URL, ioredis options, { cluster, options } or a client',
    );
  }
  // A client has a method of that name.
  if (!isClient(value) && 'cluster' in value) {
    const { cluster } = checkKeys(value, ['cluster', 'options'], path);
    if (!Array.isArray(cluster) || cluster.length === 0) {
      throw configError.badValue(`${path}.cluster`, cluster, 'an array of nodes');
    }
  }
  return value;
}

/** By structure: the application may have another copy of ioredis. */
function isClient(value: object): value is RedisClient {
  return 'evalsha' in value && typeof value.evalsha === 'function';
}

export function isCluster(client: RedisClient): client is Cluster {
  return (client as { isCluster?: boolean }).isCluster === true;
}

/** What every connection of ours has: it fails at once, and nothing is sent twice or late. */
function ownSettings(timeoutMs: number) {
  return {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1000,
    // Closing a connection that is closed already would keep the process for as long.
    disconnectTimeout: 100,
    // A server that accepts and is silent is left, and what waits for it is let go.
    socketTimeout: Math.max(1000, 5 * timeoutMs),
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 5), 1000),
    // Otherwise a client stays with a master that has been replaced, as long as its socket is open.
    failoverDetector: true,
  } as const;
}

/** Opens what is described, adopts what is given. */
export function connect(option: RedisOption, timeoutMs: number): Connection {
  checkClusterPrefix(option);
  if (typeof option === 'object' && isClient(option)) return { client: option, owned: false };
  const client = open(option, ownSettings(timeoutMs));
  // Without a listener ioredis prints every failed attempt; what fails is told where it is asked.
  client.on('error', () => undefined);
  return { client, owned: true };
}

function open(
  option: Exclude<RedisOption, Redis | Cluster>,
  own: ReturnType<typeof ownSettings>,
): RedisClient {
  const ioredis = loadIoredis();
  if (typeof option === 'string') return new ioredis.Redis(option, own);
  if ('cluster' in option) {
    return openCluster(new ioredis.Cluster(option.cluster, clusterSettings(option.options, own)));
  }
  return new ioredis.Redis({ ...own, ...option });
}

/**
 * What the client of a cluster puts before each key is hashed with it: with a brace, a policy's keys
 * may lie on several slots, and no call could touch all of them.
 */
function checkClusterPrefix(option: RedisOption): void {
  if (typeof option === 'string') return;
  const options = isClient(option)
    ? isCluster(option) && option.options
    : 'cluster' in option && option.options;
  if (!options) return;
  const prefix = options.keyPrefix ?? options.redisOptions?.keyPrefix ?? '';
  if (/[{}]/.test(prefix)) throw configError.notOnCluster('redis', prefix);
}

/** The same on a cluster, whose client has its own reasons to send again. */
function clusterSettings(
  options: ClusterOptions | undefined,
  own: ReturnType<typeof ownSettings>,
): ClusterOptions {
  return {
    // What was under way when a node's connection broke may have run.
    retryDelayOnFailover: 0,
    // A cluster that is down stays so for longer than anybody waits.
    retryDelayOnClusterDown: 0,
    // Two redirections lead anywhere; more, and the keys of a moving slot are on two servers.
    maxRedirections: 5,
    retryDelayOnTryAgain: 10,
    ...options,
    redisOptions: { ...own, ...options?.redisOptions },
  };
}

/** Connects masters when they are found, so that no decision waits for it. */
function openCluster(cluster: Cluster): Cluster {
  return cluster.on('+node', (node: Redis) => {
    if (!node.options.readOnly) node.connect().catch(() => undefined);
    // The client of the cluster does not look at the answer, so a connection that breaks before it
    // would end the process.
    const asking = node.asking.bind(node);
    node.asking = () => {
      const asked = asking();
      asked.catch(() => undefined);
      return asked;
    };
  });
}

/** Settings of a client that break a promise, each with what it does, for the log. */
export function doubtfulSettings(client: RedisClient): string[] {
  const settings: Record<string, unknown> = isCluster(client)
    ? { ...client.options.redisOptions }
    : { ...client.options };
  const doubts: string[] = [];
  if (isCluster(client)) {
    if (client.options.retryDelayOnFailover !== 0) doubts.push(sentAgain('retryDelayOnFailover'));
  } else if (settings.maxRetriesPerRequest !== 0) {
    doubts.push(sentAgain('maxRetriesPerRequest'));
  }
  if (settings.stringNumbers === true) {
    doubts.push(
      'stringNumbers is true: no reply can be read, every decision is made by onStoreError',
    );
  }
  return doubts;
}

function sentAgain(setting: string): string {
  return `${setting} is not 0: what was under way when a connection broke is sent again, and may be charged twice`;
}

/** Resolves when the client can be used, or when it is clear that it cannot be for now. */
export async function untilReady(client: RedisClient, timeoutMs: number): Promise<void> {
  if (client.status === 'ready') return;
  if (client.status === 'wait') client.connect().catch(() => undefined);
  await new Promise<void>((resolve) => {
    const done = () => {
      clearTimeout(timer);
      client.off('ready', done);
      resolve();
    };
    const timer = setTimeout(done, timeoutMs);
    client.once('ready', done);
  });
}

export function close({ client, owned }: Connection): void {
  if (owned) client.disconnect();
}

/** Only here, and only when Redis is used: the package works without ioredis. */
function loadIoredis(): typeof Ioredis {
  try {
    return createRequire(import.meta.url)('ioredis') as typeof Ioredis;
  } catch {
    throw configError.missingPackage('ioredis', 'for the option `redis`');
  }
}
