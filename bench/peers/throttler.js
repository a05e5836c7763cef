import { ThrottlerStorageRedisService } from '@nest-lab/throttler-storage-redis';

/** Fixed windows; the guard of @nestjs/throttler asks for one rule after the other. */
export const throttler = {
  id: 'throttler',
  name: '@nestjs/throttler + storage-redis',
  peer: true,
  async open({ client, prefix }, { rules }) {
    const storage = new ThrottlerStorageRedisService(client);
    const increment = ({ limit, windowMs }, i, key) =>
      storage.increment(`${prefix}${key}`, windowMs, limit, windowMs, `rule${i}`);
    return {
      call:
        rules.length === 1
          ? (key) => increment(rules[0], 0, key)
          : async (key) => {
              let last;
              for (let i = 0; i < rules.length; i++) {
                last = await increment(rules[i], i, key);
                if (last.isBlocked) return last;
              }
              return last;
            },
      admitted: (record) => !record.isBlocked,
      close: () => undefined,
    };
  },
};
