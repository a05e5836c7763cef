import type { Redis } from './ioredis.js';
import { wallClock } from '../../clock.js';
import { isCluster } from './connection.js';
import { StoreError } from '../store-error.js';
import type { RedisClient } from './script-runner.js';

/** What may be wrong with a server; each is explained in docs/reliability.md. */
export type RedisProblemCode =
  'unreachable' | 'old-version' | 'scripts-refused' | 'evicts-keys' | 'replica' | 'clock-skew';

/** Something that is wrong with a server. */
export interface RedisProblem {
  readonly code: RedisProblemCode;
  /** What it means for limits, in one sentence. */
  readonly message: string;
}

/** What was found when the server was last looked at. */
export interface SelfCheck {
  /** Milliseconds since the epoch, by this process. */
  readonly checkedAt: number;
  /** `'7.0.15'`; undefined where the user may not ask. */
  readonly version: string | undefined;
  readonly problems: readonly RedisProblem[];
}

const LEAST_VERSION = [6, 2] as const;
const MOST_SKEW_MS = 1000;

/** Of a server that cannot be asked. */
export function unreachable(failure: unknown): SelfCheck {
  const { message } = failure as Error;
  return {
    checkedAt: wallClock.now(),
    version: undefined,
    problems: [
      {
        code: 'unreachable',
        message: `it cannot be asked (${message}): decisions are made by onStoreError`,
      },
    ],
  };
}

/** Looks at the server, or at each master of a cluster. Rejects where one cannot be asked. */
export async function checkRedis(client: RedisClient): Promise<SelfCheck> {
  // A client that queues commands while it is away would let us wait for as long.
  if (client.status !== 'ready') throw new StoreError('not-connected');
  const nodes = isCluster(client) ? client.nodes('master') : [client];
  const checks = await Promise.all(nodes.map(checkNode));
  const codes = new Set<string>();
  return {
    checkedAt: wallClock.now(),
    version: checks.find(({ version }) => version !== undefined)?.version,
    problems: checks
      .flatMap(({ problems }) => problems)
      .filter(({ code }) => !codes.has(code) && codes.add(code)),
  };
}

async function checkNode(node: Redis): Promise<Omit<SelfCheck, 'checkedAt'>> {
  const problems = [...(await checkScripts(node)), ...(await checkClock(node))];
  const info = parseInfo(await node.info().catch(() => ''));
  return { version: info.get('redis_version'), problems: [...problems, ...checkInfo(info)] };
}

async function checkScripts(node: Redis): Promise<RedisProblem[]> {
  try {
    await node.eval('return 1', 0);
    return [];
  } catch (error) {
    // A server that says anything in capitals is there, and refuses.
    if (!/^[A-Z]{2,} /.test((error as Error).message)) throw error;
    const message = 'it refuses scripts (EVAL): allow the commands that docs/reliability.md lists';
    return [{ code: 'scripts-refused', message }];
  }
}

/** The server's time was read between sending and answer: what lies outside of that is skew. */
async function checkClock(node: Redis): Promise<RedisProblem[]> {
  const before = wallClock.now();
  const time = await node.time().catch(() => undefined);
  const after = wallClock.now();
  if (time === undefined) return [];
  const server = Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000);
  const skewMs = Math.max(before - server, server - after);
  if (!(skewMs > MOST_SKEW_MS)) return [];
  const direction = server > after ? 'ahead of' : 'behind';
  const message = `its clock is ${skewMs} ms ${direction} this process's: limits follow the server's, unless clock is 'app'`;
  return [{ code: 'clock-skew', message }];
}

function checkInfo(info: ReadonlyMap<string, string>): RedisProblem[] {
  const problems: RedisProblem[] = [];
  const version = info.get('redis_version');
  const [major, minor] = (version ?? '').split('.').map(Number);
  const [leastMajor, leastMinor] = LEAST_VERSION;
  if (major! < leastMajor || (major === leastMajor && minor! < leastMinor)) {
    const message = `version ${version} is older than ${LEAST_VERSION.join('.')}: the scripts were not tried there`;
    problems.push({ code: 'old-version', message });
  }
  const eviction = info.get('maxmemory_policy');
  if (eviction !== undefined && eviction !== 'noeviction' && info.get('maxmemory') !== '0') {
    const message = `maxmemory-policy ${eviction} drops keys when memory is full, and a dropped key is a limit forgotten: use noeviction`;
    problems.push({ code: 'evicts-keys', message });
  }
  if (info.get('role') === 'slave') {
    const message = 'it is a replica: it refuses to write, decisions are made by onStoreError';
    problems.push({ code: 'replica', message });
  }
  return problems;
}

function parseInfo(text: string): Map<string, string> {
  const lines = text.split('\r\n').filter((line) => line.includes(':'));
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1)];
    }),
  );
}
