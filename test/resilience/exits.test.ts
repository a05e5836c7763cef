import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Build, build } from '../support/build.js';
import { freePort, type RedisServer, startRedis } from '../support/redis-server.js';

const PROGRAM = 'test/resilience/exits.ts';

describe('after app.close()', () => {
  let compiled: Build;
  let server: RedisServer;

  beforeAll(async () => {
    compiled = build(PROGRAM);
    server = await startRedis();
  });
  afterAll(async () => {
    server.process.kill('SIGCONT');
    await server.stop('SIGKILL');
    compiled.remove();
  });

  /** What the process said, once it has ended without being told to. */
  async function run(...args: string[]): Promise<string> {
    const child = spawn(process.execPath, [compiled.fileOf(PROGRAM), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let said = '';
    child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    clearTimeout(timer);
    expect([code, signal]).toEqual([0, null]);
    return said.trim();
  }

  it('the process ends by itself: in process', async () => {
    expect(await run()).toBe('memory');
  });

  it('the process ends by itself: with Redis', async () => {
    expect(await run(server.url)).toBe('redis');
  });

  it('the process ends by itself: without the Redis that it names', async () => {
    expect(await run(`redis://127.0.0.1:${await freePort()}`)).toBe('fallback');
  });

  it('the process ends by itself: with a Redis that stands still', async () => {
    server.process.kill('SIGSTOP');
    expect(await run(server.url)).toBe('fallback');
  });
});
