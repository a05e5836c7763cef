import { Redis } from 'ioredis';
import { describeFault, type Fault } from '../support/chaos.js';
import { freePort, type RedisServer, startRedis } from '../support/redis-server.js';

async function onServer(
  on: (server: RedisServer) => unknown,
  off: (server: RedisServer) => unknown,
): Promise<Fault> {
  const server = await startRedis();
  return {
    redis: server.url,
    on: () => on(server),
    off: () => off(server),
    close: () => server.stop('SIGKILL'),
  };
}

async function command(server: RedisServer, ...args: [string, ...string[]]): Promise<void> {
  const redis = new Redis(server.url);
  await redis.call(...args);
  redis.disconnect();
}

describeFault('a server that is killed, and started again', async () => {
  const port = await freePort();
  let server = await startRedis([], port);
  return {
    redis: server.url,
    on: () => server.stop('SIGKILL'),
    off: async () => {
      server = await startRedis([], port);
    },
    close: () => server.stop('SIGKILL'),
  };
});

describeFault('a server that stands still', () =>
  onServer(
    ({ process }) => process.kill('SIGSTOP'),
    ({ process }) => process.kill('SIGCONT'),
  ),
);

describeFault(
  'a server that forgets its scripts',
  () =>
    onServer(
      (server) => command(server, 'SCRIPT', 'FLUSH'),
      () => undefined,
    ),
  { works: true },
);

describeFault('a server that is made a replica', () =>
  onServer(
    (server) => command(server, 'REPLICAOF', '127.0.0.1', '1'),
    (server) => command(server, 'REPLICAOF', 'NO', 'ONE'),
  ),
);

describeFault('a server whose memory is full', () =>
  onServer(
    (server) => command(server, 'CONFIG', 'SET', 'maxmemory', '1'),
    (server) => command(server, 'CONFIG', 'SET', 'maxmemory', '0'),
  ),
);

describeFault('a server without enough replicas', () =>
  onServer(
    (server) => command(server, 'CONFIG', 'SET', 'min-replicas-to-write', '1'),
    (server) => command(server, 'CONFIG', 'SET', 'min-replicas-to-write', '0'),
  ),
);

describeFault('a server that takes the rights away', () =>
  onServer(
    (server) => command(server, 'ACL', 'SETUSER', 'default', '-eval', '-evalsha'),
    (server) => command(server, 'ACL', 'SETUSER', 'default', '+eval', '+evalsha'),
  ),
);
