import { StoreError } from '../store-error.js';
import type { Cluster, Redis } from './ioredis.js';
import type { Script } from './scripts.js';

/** A connection as the library uses it: a standalone client or a Cluster, of ioredis 5 or 6. */
export type RedisClient = Redis | Cluster;

/** The reason of a call that has not run because its keys are on two servers: their slot is moving. */
export const MOVING = 'TRYAGAIN';

/**
 * Runs scripts: the core under all limits and counters, and the only code that speaks to the client.
 *
 * A script goes out by its hash; only when the server answers NOSCRIPT (restarted, flushed, failed
 * over, a node of the cluster that has not seen it) its text is sent, once. No other error is
 * retried, because the script may have run.
 *
 * @example
 * const hello = { name: 'hello', source: "return ARGV[1]", sha: sha1("return ARGV[1]") };
 * await scripts.run(hello, [], ['world']); // 'world'
 */
export class ScriptRunner {
  constructor(readonly client: RedisClient) {}

  /** The server's reply, as ioredis gives it; rejects with the client's error, or without a connection. */
  async run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    // Whatever the client would do with a command now, queue it or try again, it would run too late.
    if (this.client.status !== 'ready') throw new StoreError('not-connected');
    const rest = [...keys, ...args];
    try {
      return await this.client.evalsha(script.sha, keys.length, ...rest);
    } catch (error) {
      const text = error instanceof Error ? error.message : '';
      if (!text.startsWith('NOSCRIPT')) throw whyRedirected(error, text);
    }
    try {
      return await this.client.eval(script.source, keys.length, ...rest);
    } catch (error) {
      throw whyRedirected(error, error instanceof Error ? error.message : '');
    }
  }
}

/**
 * A cluster's client gives up after some redirections and hides the reason in its text. Sent from one
 * server to the other and back: the slot is moving, and each has some of the keys.
 */
function whyRedirected(error: unknown, text: string): unknown {
  const last = /^Too many Cluster redirections\. Last error: \w+: ([A-Z]+)/.exec(text)?.[1];
  if (last === undefined) return error;
  const moving = last === MOVING || last === 'MOVED' || last === 'ASK';
  return new StoreError(moving ? MOVING : last, { cause: error });
}
