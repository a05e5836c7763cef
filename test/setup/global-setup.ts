import { type RedisServer, startRedis } from '../support/redis-server.ts';

declare global {
  var testRedis: RedisServer | undefined;
}

/** Starts a server of the tests' own, unless REDIS_URL names one that may be flushed. */
export default async function globalSetup(): Promise<void> {
  if (process.env.REDIS_URL) return;
  globalThis.testRedis = await startRedis(['--databases', '64']);
  process.env.REDIS_URL = globalThis.testRedis.url;
}
