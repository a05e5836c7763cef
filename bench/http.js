// Requests per second with and without a guard, beside @nestjs/throttler, in one run: npm run bench:http
import autocannon from 'autocannon';
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import net, { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { machine, spread, table } from './measure.js';

const SERVER = new URL('http-server.js', import.meta.url).pathname;
const CONNECTIONS = 64;
const EMPTY = 'a guard that does nothing';
const GUARDS = {
  none: 'no guard',
  empty: EMPTY,
  memory: 'nestjs-sliding-window, in process',
  redis: 'nestjs-sliding-window, Redis',
  'memory-metrics': 'nestjs-sliding-window, in process, with metrics',
  'redis-metrics': 'nestjs-sliding-window, Redis, with metrics',
  'throttler-memory': '@nestjs/throttler, in process',
  'throttler-redis': '@nestjs/throttler, storage-redis',
};
/** On Fastify, of a guard that does nothing. */
const TARGETS = { [GUARDS.memory]: 0.9, [GUARDS.redis]: 0.6 };
const PACKAGES = [
  ...['@nestjs/core', 'fastify', 'express', '@nestjs/throttler'],
  ...['@nest-lab/throttler-storage-redis', 'ioredis', 'autocannon'],
];

const short = process.argv.includes('--short');
const { rounds, seconds } = short ? { rounds: 2, seconds: 1 } : { rounds: 7, seconds: 3 };

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** REDIS_URL, or a server of our own. */
async function openRedis() {
  if (process.env.REDIS_URL) return { url: process.env.REDIS_URL, stop: () => undefined };
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'sliding-window-bench-'));
  const child = spawn(
    process.env.REDIS_SERVER_BIN ?? 'redis-server',
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  for await (const text of child.stdout) if (/ready to accept/i.test(text)) break;
  return {
    url: `redis://127.0.0.1:${port}`,
    async stop() {
      child.kill();
      await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openServer(platform, guard, redis) {
  const child = fork(SERVER, [platform, guard], {
    env: { ...process.env, NODE_ENV: 'production', REDIS_URL: redis },
  });
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`${platform}, ${guard}: the server has stopped with ${code}`);
  });
  const [{ url }] = await Promise.race([once(child, 'message'), failed]);
  failed.catch(() => undefined);
  return {
    name: GUARDS[guard],
    url,
    async stop() {
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/**
 * Each connection is a client with an address of its own; Linux answers to all of 127.0.0.0/8.
 * Elsewhere they are one client.
 */
let clients = 0;
const { connect } = net;
net.connect = (port, host) =>
  connect({
    port,
    host,
    ...(process.platform === 'linux' && {
      localAddress: `127.0.1.${1 + (clients++ % CONNECTIONS)}`,
    }),
  });

async function load({ name, url }, duration) {
  const result = await autocannon({ url, connections: CONNECTIONS, duration });
  if (result.errors > 0 || result.non2xx > 0) {
    throw new Error(`${name}: ${result.errors} errors, ${result.non2xx} answers other than 200`);
  }
  return { rate: result['2xx'] / result.duration, p99: result.latency.p99 };
}

/** Interleaved rounds, so that a machine that slows down slows all; the first one warms up. */
async function measure(platform, redis) {
  const servers = [];
  for (const guard of Object.keys(GUARDS)) servers.push(await openServer(platform, guard, redis));
  const runs = servers.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, server] of servers.entries()) {
      const run = await load(server, seconds);
      if (round > 0) runs[i].push(run);
    }
  }
  for (const server of servers) await server.stop();
  return servers.map(({ name }, i) => ({
    name,
    ...spread(runs[i].map(({ rate }) => rate)),
    p99: spread(runs[i].map(({ p99 }) => p99)).median,
  }));
}

function versionOf(name) {
  const path = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return `${name} ${JSON.parse(readFileSync(path, 'utf8')).version}`;
}

console.log(machine());
console.log(PACKAGES.map(versionOf).join(', '));
console.log(
  `${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s after one that warms up; ` +
    'server, load and Redis are processes of this machine',
);
const redis = await openRedis();
for (const platform of ['fastify', 'express']) {
  const rows = await measure(platform, redis.url);
  console.log(table(`${platform}, requests per second, all admitted`, rows, EMPTY));
  console.log(`  p99, ms: ${rows.map(({ name, p99 }) => `${name} ${p99}`).join(' | ')}`);
  if (platform !== 'fastify') continue;
  const reference = rows.find(({ name }) => name === EMPTY).median;
  for (const { name, median } of rows.filter((row) => row.name in TARGETS)) {
    const ratio = median / reference;
    const verdict = ratio >= TARGETS[name] ? 'reached' : 'MISSED';
    console.log(`  target ${TARGETS[name]} x, ${name}: ${ratio.toFixed(2)} x, ${verdict}`);
  }
}
await redis.stop();
