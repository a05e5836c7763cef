import { NestFactory } from '@nestjs/core';

let opened = 0;

/** Ours, as a module of an application that brings its own connection. */
function ours(id, name, denyCache, policyOptions = {}) {
  return {
    id,
    name,
    ours: true,
    denyCache,
    async open({ library, client, prefix }, { rules }) {
      const { RateLimiterService, SlidingWindowModule } = library;
      const app = await NestFactory.createApplicationContext(
        SlidingWindowModule.forRoot({
          redis: client,
          keyPrefix: prefix,
          ...(denyCache ? {} : { denyCache: false }),
        }),
        { logger: false },
      );
      const limiter = app.get(RateLimiterService);
      const policy = {
        name: `bench-${opened++}`,
        rules: rules.map(({ windowMs, ...rule }) => ({ ...rule, window: windowMs })),
        ...policyOptions,
      };
      return {
        call: (key) => limiter.consume(policy, key),
        admitted: (decision) => decision.allowed,
        close: () => app.close(),
      };
    },
  };
}

const NAME = 'nestjs-sliding-window';

export const sliding = ours('ours', NAME, false);
export const slidingCached = ours('ours-deny-cache', `${NAME}, denial cache`, true);

/** A process takes units in blocks and spends them locally. */
export const slidingLeased = {
  ...ours('ours-lease', `${NAME}, lease`, false, { lease: { size: 100, ttl: 100 } }),
  optional: true,
};

/** The same script with the same arguments, sent by nothing but the client. */
export const plainScript = {
  id: 'same-script',
  name: 'plain EVALSHA of the same script',
  async open({ internals, client, prefix }, { rules }) {
    const { sliding, compilePolicy, pushRun } = internals;
    const [{ limit, windowMs }] = rules;
    const policy = { name: 'plain', rules: [{ limit, window: windowMs }] };
    const { plan } = compilePolicy(policy, {}, 'policy');
    const args = [''];
    pushRun(args, { plan, cost: 1, blockMs: 0 }, 1);
    await client.script('LOAD', sliding.source);
    return {
      call: (key) => client.evalsha(sliding.sha, 1, `${prefix}:${key}`, ...args),
      admitted: (reply) => reply[1] === 1,
      close: () => undefined,
    };
  },
};

/** What only the program itself may reach into, from the folder of the build. */
export async function internalsOf(url) {
  const [{ loadScripts }, { compilePolicy }, { pushRun }] = await Promise.all([
    import(new URL('stores/redis/scripts.js', url).href),
    import(new URL('limiting/policies.js', url).href),
    import(new URL('stores/redis/wire.js', url).href),
  ]);
  return { sliding: loadScripts().decideOne['sliding-log'], compilePolicy, pushRun };
}
