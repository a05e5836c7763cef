import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../support/redis-server.ts';

declare global {
  var testRedis: RedisServer | undefined;
}

/** The recipe that users read, so that it is the one that is tested. */
function aclRecipe(): string[] {
  const page = readFileSync(new URL('../../docs/reliability.md', import.meta.url), 'utf8');
  const [, recipe] = /```acl\n(ACL [^`]*)```/.exec(page)!;
  return recipe!.trim().split(/\s+/);
}

/**
 * Starts a server of the tests' own, unless REDIS_URL names one that may be flushed. What is tested
 * gets a user with no more rights than the documentation asks for, in REDIS_URL; REDIS_ADMIN_URL is
 * for what tests look up.
 */
export default async function globalSetup(): Promise<void> {
  if (process.env.REDIS_URL === undefined) {
    globalThis.testRedis = await startRedis(['--databases', '64']);
  }
  const admin = new URL(globalThis.testRedis?.url ?? process.env.REDIS_URL!);
  const redis = new Redis(admin.href, { maxRetriesPerRequest: 1 });
  const [command, ...args] = aclRecipe();
  await redis.call(command!, ...args);
  redis.disconnect();
  process.env.REDIS_ADMIN_URL = admin.href;
  admin.username = 'limiter';
  admin.password = 'PASSWORD';
  process.env.REDIS_URL = admin.href;
}
