import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

/** A redis-server that a test has started, and stops. */
export interface RedisServer {
  readonly port: number;
  readonly url: string;
  readonly process: ChildProcess;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const HOW_TO_GET_ONE =
  'no redis-server found. Install one (Debian, Ubuntu: apt-get install redis-server; ' +
  'macOS: brew install redis), or name its binary in REDIS_SERVER_BIN, ' +
  'or name a running server that may be flushed in REDIS_URL.';

function onPath(): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
  return folders.map((folder) => join(folder, 'redis-server')).find((file) => existsSync(file));
}

/** The binary: REDIS_SERVER_BIN, or from PATH, or from Debian's package where that can be installed. */
export function redisServerBinary(): string {
  const named = process.env.REDIS_SERVER_BIN;
  if (named !== undefined) {
    if (existsSync(named)) return named;
    throw new Error(`REDIS_SERVER_BIN names ${named}, which does not exist`);
  }
  const found = onPath();
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) throw new Error(HOW_TO_GET_ONE);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  try {
    execFileSync('apt-get', ['update'], { env, stdio: 'pipe' });
    execFileSync('apt-get', ['install', '-y', '--no-install-recommends', 'redis-server'], {
      env,
      stdio: 'pipe',
    });
  } catch (error) {
    throw new Error(`${HOW_TO_GET_ONE} (installing it failed: ${String(error)})`, { cause: error });
  }
  const installed = onPath();
  if (installed === undefined) throw new Error(HOW_TO_GET_ONE);
  return installed;
}

export async function freePort(): Promise<number> {
  return (await freePorts(1))[0]!;
}

/** Ports that differ: all are held before the first is let go. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

async function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** `first` stands before all options: a configuration file, as a sentinel wants one. */
export async function startRedis(
  args: string[] = [],
  port?: number,
  first: string[] = [],
): Promise<RedisServer> {
  const binary = redisServerBinary();
  const chosen = port ?? (await freePort());
  const folder = mkdtempSync(join(tmpdir(), 'sliding-window-redis-'));
  const child = spawn(
    binary,
    [
      ...first,
      ...['--port', String(chosen), '--bind', '127.0.0.1', '--dir', folder],
      ...['--save', '', '--appendonly', 'no', ...args],
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-2000)));
  const exited = once(child, 'exit');
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const end = Date.now() + 10_000;
  while (!(await accepts(chosen))) {
    if (child.exitCode !== null || Date.now() > end) {
      throw new Error(`redis-server did not listen on port ${chosen}: ${output}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    port: chosen,
    url: `redis://127.0.0.1:${chosen}`,
    process: child,
    stop: async (signal = 'SIGTERM') => {
      process.off('exit', kill);
      if (child.exitCode === null && child.signalCode === null) {
        child.kill(signal);
        await exited;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
