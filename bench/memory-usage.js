import { open } from './closed-loop.js';
import { sliding } from './peers/ours.js';
import { flexibleRedis } from './peers/rate-limiter-flexible.js';
import { rateLimitRedis } from './peers/rate-limit-redis.js';
import { throttler } from './peers/throttler.js';
import { zset } from './peers/zset.js';

const HOUR = 3_600_000;
const LIMIT = 100_000;

const LOG = { limit: LIMIT, windowMs: HOUR };

/** What is kept of a subject: its rule decides about it. */
const KEPT = [
  { contestant: sliding, name: 'sliding-log', rules: [LOG] },
  { contestant: zset, name: zset.name, rules: [LOG] },
  {
    contestant: sliding,
    name: 'sliding-counter, 60 slices',
    rules: [{ algorithm: 'sliding-counter', slices: 60, ...LOG }],
  },
  { contestant: sliding, name: 'fixed-window', rules: [{ algorithm: 'fixed-window', ...LOG }] },
  {
    contestant: sliding,
    name: 'token-bucket',
    rules: [{ algorithm: 'token-bucket', limit: LIMIT, refill: LIMIT, windowMs: HOUR }],
  },
  ...[flexibleRedis, throttler, rateLimitRedis].map((contestant) => ({
    contestant,
    name: contestant.name,
    rules: [LOG],
  })),
];

/** Bytes of one subject after so many admitted requests, by MEMORY USAGE of all its keys. */
export async function memoryUsage(entries, servers) {
  const [admin] = servers.admins;
  const rows = [];
  for (const { contestant, name, rules } of KEPT) {
    const side = await open(contestant, { rules }, servers, 'bytes');
    const calls = Array.from({ length: entries }, () => side.call('203.0.113.42'));
    await Promise.all(calls);
    const keys = await admin.keys('*');
    const sizes = await Promise.all(keys.map((key) => admin.memory('USAGE', key, 'SAMPLES', 0)));
    rows.push({
      id: `${contestant.id} ${name}`,
      name,
      keys: keys.length,
      bytes: sizes.reduce((all, size) => all + size, 0),
    });
    await side.close();
    await admin.flushall();
  }
  return rows;
}
