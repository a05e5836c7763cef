import { RedisStore } from 'rate-limit-redis';

/** Fixed windows, the store of express-rate-limit; of several rules each is a middleware. */
export const rateLimitRedis = {
  id: 'rate-limit-redis',
  name: 'rate-limit-redis',
  peer: true,
  async open({ client, prefix }, { rules }) {
    const stores = await Promise.all(
      rules.map(async ({ windowMs }, i) => {
        const sendCommand = (command, ...args) => client.call(command, ...args);
        const store = new RedisStore({ sendCommand, prefix: `${prefix}${i}:` });
        await store.init({ windowMs });
        return store;
      }),
    );
    const { limit } = rules[0];
    return {
      call:
        stores.length === 1
          ? (key) => stores[0].increment(key)
          : async (key) => {
              let last;
              for (const store of stores) last = await store.increment(key);
              return last;
            },
      admitted: ({ totalHits }) => totalHits <= limit,
      close: () => undefined,
    };
  },
};
