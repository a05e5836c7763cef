import { RateLimiterRedis, RateLimiterUnion } from 'rate-limiter-flexible';

/** Fixed windows of whole seconds, the limit in proportion; a denial rejects. */
function flexible(id, name, blocks) {
  return {
    id,
    name,
    peer: true,
    cached: blocks,
    async open({ client, prefix }, { rules }) {
      const limiters = rules.map(({ limit, windowMs }, i) => {
        const duration = Math.ceil(windowMs / 1000);
        const points = Math.ceil((limit * duration * 1000) / windowMs);
        return new RateLimiterRedis({
          storeClient: client,
          keyPrefix: `${prefix}${i}`,
          points,
          duration,
          ...(blocks ? { inMemoryBlockOnConsumed: points } : {}),
        });
      });
      const limiter = limiters.length === 1 ? limiters[0] : new RateLimiterUnion(...limiters);
      return {
        call: (key) => limiter.consume(key),
        admitted: () => true,
        close: () => undefined,
      };
    },
  };
}

const NAME = 'rate-limiter-flexible';

export const flexibleRedis = flexible('flexible', NAME, false);
export const flexibleBlocking = flexible('flexible-block', `${NAME}, inMemoryBlock`, true);
