import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { RedisCluster } from '../support/redis-cluster.js';

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await RedisCluster.start();
}, 30_000);

afterAll(() => cluster?.stop());

it('has three masters with a replica each', async () => {
  const masters = await cluster.masters();
  expect(masters).toHaveLength(3);
  for (const master of masters) expect(await cluster.replicasOf(master)).toHaveLength(1);
});

it('moves a slot with its keys', async () => {
  const slot = await cluster.slotOf('{a}1');
  const from = await cluster.masterOf('{a}1');
  const to = (await cluster.masters()).find((node) => node !== from)!;
  await from.redis.set('{a}1', 'one');
  await cluster.beginMigration(slot, from, to);
  await expect(from.redis.get('{a}2')).rejects.toThrow(`ASK ${slot} 127.0.0.1:${to.port}`);
  expect(await cluster.moveKeys(slot, from, to)).toBe(1);
  await cluster.settle(slot, to);
  expect((await cluster.masterOf(slot)).port).toBe(to.port);
  expect(await to.redis.get('{a}1')).toBe('one');
});

it('fails over to a replica that is asked to, and to one whose master is killed', async () => {
  const master = await cluster.masterOf('{b}1');
  const [replica] = await cluster.replicasOf(master);
  await cluster.failover(replica!);
  await cluster.untilOk();
  expect((await cluster.masterOf('{b}1')).port).toBe(replica!.port);
  await cluster.kill(replica!);
  await cluster.untilOk();
  expect((await cluster.masterOf('{b}1')).port).toBe(master.port);
}, 30_000);
