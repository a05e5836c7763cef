import { setTimeout as delay } from 'node:timers/promises';
import { describeFault } from '../support/chaos.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisSentinel } from '../support/redis-sentinel.js';

describeFault(
  'a slot that moves to another master',
  async () => {
    const cluster = await RedisCluster.start({ replicasPerMaster: 0 });
    const slot = await cluster.slotOf('{ChaosController-find|custom|all%20at%20once}');
    const from = await cluster.masterOf(slot);
    const to = (await cluster.masters()).find((node) => node !== from)!;
    return {
      redis: { cluster: cluster.seeds },
      on: () => cluster.beginMigration(slot, from, to),
      off: async () => {
        await cluster.moveKeys(slot, from, to);
        await cluster.settle(slot, to);
      },
      close: () => cluster.stop(),
    };
  },
  { works: true },
);

describeFault('a master that dies, with sentinels', async () => {
  const sentinel = await RedisSentinel.start({ downAfterMs: 1000 });
  const master = await sentinel.master();
  return {
    redis: sentinel.connection,
    on: () => sentinel.killMaster(),
    off: () => sentinel.untilMasterIsNot(master),
    close: async () => {
      await sentinel.stop();
      // A client of ioredis keeps a timer as long for each sentinel that is gone.
      await delay(2000);
    },
  };
});
