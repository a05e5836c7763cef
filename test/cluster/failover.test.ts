import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setTimeout as after } from 'node:timers/promises';
import type { Decision } from '../../lib/index.js';
import { RedisCluster, until } from '../support/redis-cluster.js';
import { openServices, type Services } from '../support/services.js';

const LIMIT = 300;
const TIMEOUT_MS = 150;

let cluster: RedisCluster;
let services: Services;

beforeAll(async () => {
  cluster = await RedisCluster.start();
  services = await openServices('redis', {
    redis: { cluster: cluster.seeds },
    timeout: TIMEOUT_MS,
  });
}, 30_000);

afterAll(async () => {
  await services?.close();
  await cluster?.stop();
});

interface Seen {
  readonly decisions: Decision[];
  slowestMs: number;
  readonly errors: unknown[];
}

/** Four callers on one subject, from before `event` until Redis denies again after it. */
async function during(policy: string, event: () => Promise<void>): Promise<Seen> {
  const seen: Seen = { decisions: [], slowestMs: 0, errors: [] };
  let asking = true;
  const caller = async () => {
    while (asking) {
      const start = performance.now();
      try {
        seen.decisions.push(
          await services.limiter.consume(
            { name: policy, rules: { limit: LIMIT, window: '1h' } },
            'hot',
          ),
        );
      } catch (error) {
        seen.errors.push(error);
      }
      seen.slowestMs = Math.max(seen.slowestMs, performance.now() - start);
      await after(5);
    }
  };
  const callers = Promise.all(Array.from({ length: 4 }, caller));
  await until('the first decisions', () => seen.decisions.length > 40);
  await event();
  const { length } = seen.decisions;
  await until('Redis decides, and the limit is reached', () => {
    const latest = seen.decisions.slice(length).slice(-20);
    return latest.length === 20 && latest.every((one) => one.source === 'redis' && !one.allowed);
  });
  asking = false;
  await callers;
  return seen;
}

function admittedBy(source: Decision['source'], { decisions }: Seen): number {
  return decisions.filter((one) => one.allowed && one.source === source).length;
}

async function masterOf(policy: string) {
  return cluster.masterOf(`${services.keyPrefix}:{${policy}|custom|hot}:x`);
}

async function evalsOn(node: { redis: { info(section: string): Promise<string> } }) {
  const stats = await node.redis.info('commandstats');
  return Number(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

it('a failover that is asked for costs no admission: the new master learns the script', async () => {
  const master = await masterOf('asked-for');
  const [replica] = await cluster.replicasOf(master);
  expect(await evalsOn(replica!)).toBe(0);
  const seen = await during('asked-for', () => cluster.failover(replica!));
  expect(seen.errors).toEqual([]);
  expect(admittedBy('redis', seen)).toBe(LIMIT);
  expect((await masterOf('asked-for')).port).toBe(replica!.port);
  expect(await evalsOn(replica!)).toBeGreaterThan(0);
}, 30_000);

it('a master that is killed costs at most the limit again, and no decision waits for it', async () => {
  await cluster.untilOk();
  const master = await masterOf('killed');
  const seen = await during('killed', () => cluster.kill(master));
  expect(seen.errors).toEqual([]);
  expect(seen.slowestMs).toBeLessThan(TIMEOUT_MS + 50);
  expect(admittedBy('redis', seen)).toBeGreaterThanOrEqual(LIMIT);
  expect(admittedBy('redis', seen)).toBeLessThanOrEqual(2 * LIMIT);
  expect(admittedBy('fallback', seen)).toBeGreaterThan(0);
  expect(admittedBy('fallback', seen)).toBeLessThanOrEqual(LIMIT);
  expect(services.events.some(({ type }) => type === 'store-up')).toBe(true);
}, 30_000);
