import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';

const SLOTS = 16_384;

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  // The bus of a cluster's node listens 10 000 above.
  return port < 55_000 ? port : freePort();
}

/** A redis-server of our own; stopped with this process at the latest. */
async function startServer(...settings) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'sliding-window-bench-'));
  const child = spawn(
    process.env.REDIS_SERVER_BIN ?? 'redis-server',
    [
      ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder],
      ...['--save', '', '--appendonly', 'no', ...settings],
    ],
    { stdio: 'ignore' },
  );
  const failed = once(child, 'error').then(([error]) => {
    throw new Error(`redis-server cannot be started: ${error.message}`);
  });
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const url = `redis://127.0.0.1:${port}`;
  const admin = new Redis(url, { retryStrategy: () => 20, maxRetriesPerRequest: null });
  admin.on('error', () => undefined);
  await Promise.race([admin.ping(), failed]);
  return {
    url,
    port,
    admin,
    async stop() {
      admin.disconnect();
      process.off('exit', kill);
      child.kill();
      await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What contestants connect to: one server, or the masters of a cluster. */
export async function startStandalone() {
  const given = process.env.REDIS_URL;
  const server = given
    ? { url: given, admin: new Redis(given), stop: () => server.admin.disconnect() }
    : await startServer();
  return {
    admins: [server.admin],
    connection: { url: server.url },
    stop: () => server.stop(),
  };
}

/** A cluster of masters alone. */
export async function startCluster(masters) {
  const servers = await Promise.all(
    Array.from({ length: masters }, () =>
      startServer(
        ...['--cluster-enabled', 'yes', '--cluster-config-file', 'nodes.conf'],
        // A node that has met no other does not know its own address.
        ...['--cluster-announce-ip', '127.0.0.1'],
      ),
    ),
  );
  const admins = servers.map(({ admin }) => admin);
  await Promise.all(
    admins.map((admin, i) =>
      admin.cluster(
        'ADDSLOTSRANGE',
        Math.round((i * SLOTS) / masters),
        Math.round(((i + 1) * SLOTS) / masters) - 1,
      ),
    ),
  );
  for (const { port } of servers.slice(1)) await admins[0].cluster('MEET', '127.0.0.1', port);
  const end = performance.now() + 20_000;
  const formed = new RegExp(`cluster_state:ok[^]*cluster_known_nodes:${masters}\\b`);
  for (const admin of admins) {
    while (!formed.test(await admin.cluster('INFO'))) {
      if (performance.now() > end) throw new Error('the cluster has not formed in 20 s');
      await sleep(50);
    }
  }
  return {
    admins,
    connection: { cluster: servers.map(({ port }) => ({ host: '127.0.0.1', port })) },
    stop: () => Promise.all(servers.map((server) => server.stop())),
  };
}

/** A connection with the client's own defaults, which is what every contestant gets. */
export async function connect({ url, cluster }) {
  const client = cluster === undefined ? new Redis(url) : new Cluster(cluster);
  if (client.status !== 'ready') await once(client, 'ready');
  return client;
}

const FIELD = {
  cpu: /used_cpu_(?:sys|user):([\d.]+)/g,
  script: /cmdstat_(?:eval|evalsha):calls=\d+,usec=(\d+)/g,
  incr: /cmdstat_incr:calls=\d+,usec=(\d+)/g,
};

const sum = (text, field) => [...text.matchAll(field)].reduce((all, [, n]) => all + Number(n), 0);

/** Microseconds that the servers have used: their processes, and what `statistics` names of their commands. */
export async function serverMicros(admins, statistics) {
  const texts = await Promise.all(admins.map((admin) => admin.info('cpu', 'commandstats')));
  return {
    redis: texts.reduce((all, text) => all + sum(text, FIELD.cpu) * 1e6, 0),
    script: texts.reduce((all, text) => all + sum(text, FIELD[statistics]), 0),
  };
}
