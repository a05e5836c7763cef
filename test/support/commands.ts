import type { Redis } from 'ioredis';
import { once } from 'node:events';

/** The commands that clients have sent while `act` ran and that name `prefix`; not those of scripts. */
export async function commandsDuring(
  redis: Redis,
  prefix: string,
  act: () => Promise<unknown>,
): Promise<string[][]> {
  const monitor = await redis.monitor();
  const commands: string[][] = [];
  const marker = `end of ${prefix}`;
  const end = new Promise<void>((resolve) => {
    monitor.on('monitor', (_: string, args: string[], source: string) => {
      if (args[1] === marker) resolve();
      else if (source !== 'lua' && args.some((arg) => arg.startsWith(prefix))) commands.push(args);
    });
  });
  await act();
  await redis.echo(marker);
  await end;
  monitor.disconnect();
  if (monitor.status !== 'end') await once(monitor, 'end');
  return commands;
}
