import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Table from 'cli-table3';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pack, type Packed } from '../package/scratch.js';
import { compile, install, type Mode, start } from './installed.js';

interface Combination {
  readonly nest: number;
  /** Undefined: not installed. */
  readonly ioredis: number | undefined;
}

const COMBINATIONS: readonly Combination[] = [12, 11].flatMap((nest) =>
  [6, 5, undefined].map((ioredis) => ({ nest, ioredis })),
);
const MODES: readonly Mode[] = ['ESM', 'CommonJS', 'bundler'];

/** What a project has to have beside the package: its required peers, a platform, types. */
const packagesOf = ({ nest, ioredis }: Combination) => [
  ...['common', 'core', 'platform-express'].map((name) => `@nestjs/${name}@${nest}`),
  ...['reflect-metadata@0.2', 'rxjs@7', '@types/node@20'],
  ...(ioredis === undefined ? [] : [`ioredis@${ioredis}`]),
];

const results: [string, string, string, string][] = [];
let packed: Packed;
beforeAll(() => {
  packed = pack();
});
afterAll(() => {
  packed?.remove();
  const table = new Table({ head: ['Nest', 'ioredis', 'module', 'holds'] });
  table.push(...results);
  process.stdout.write(`${table.toString()}\n`);
});

describe.each(COMBINATIONS)('with Nest $nest and ioredis $ioredis', (combination) => {
  const folder = () => join(packed.folder, `nest-${combination.nest}-${combination.ioredis}`);
  const store = combination.ioredis === undefined ? 'memory' : 'redis';
  const env = store === 'redis' ? { REDIS_URL: process.env.REDIS_URL } : {};

  beforeAll(() => install(folder(), packed.tarball, packagesOf(combination)));

  /** A line of the table, also for what fails. */
  async function noted(mode: Mode, promise: string, act: () => Promise<void> | void) {
    const line = [`${combination.nest}`, `${combination.ioredis ?? 'none'}`, mode] as const;
    await Promise.resolve()
      .then(act)
      .then(
        () => results.push([...line, promise]),
        (error: unknown) => {
          results.push([...line, `NOT: ${promise}`]);
          throw error;
        },
      );
  }

  it.each(MODES)('compiles with every declaration checked: %s', (mode) =>
    noted(mode, 'type-checks', () => expect(compile(folder(), mode)).toEqual([])),
  );

  it.each(['ESM', 'CommonJS'] as const)('boots, limits and counts: %s', (mode) =>
    noted(mode, `boots, limits, counts (${store})`, async () => {
      expect(await start(folder(), mode, env)).toEqual({
        statuses: [200, 200, 429],
        answers: [
          { allowed: true, source: store, count: 1, remaining: 1 },
          { allowed: true, source: store, count: 2, remaining: 0 },
        ],
      });
    }),
  );

  it('brings no package that is optional', () => {
    const optional = Object.keys(packed.manifest.peerDependenciesMeta).filter(
      (name) => name !== 'ioredis' || combination.ioredis === undefined,
    );
    for (const name of optional) {
      expect([name, existsSync(join(folder(), 'node_modules', name))]).toEqual([name, false]);
    }
  });
});
