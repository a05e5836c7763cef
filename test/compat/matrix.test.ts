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

/** What was found, by combination and mode; 'no' for what was begun and did not hold. */
const results = new Map<string, { compiles: string; runs: string }>();
let packed: Packed;
beforeAll(() => {
  packed = pack();
});
afterAll(() => {
  packed?.remove();
  const style = { head: [], border: [], compact: true };
  const head = ['NestJS, ioredis, modules', 'type-checks', 'boots, limits, counts'];
  const table = new Table({ head, style });
  for (const [name, { compiles, runs }] of results) table.push([name, compiles, runs]);
  process.stdout.write(`${table.toString()}\n`);
});

describe.each(COMBINATIONS)('with Nest $nest and ioredis $ioredis', (combination) => {
  const folder = () => join(packed.folder, `nest-${combination.nest}-${combination.ioredis}`);
  const store = combination.ioredis === undefined ? 'memory' : 'redis';
  const env = store === 'redis' ? { REDIS_URL: process.env.REDIS_URL } : {};

  beforeAll(() => install(folder(), packed.tarball, packagesOf(combination)));

  const resultOf = (mode: Mode) => {
    const name = `${combination.nest}, ${combination.ioredis ?? 'none'}, ${mode}`;
    if (!results.has(name)) results.set(name, { compiles: 'no', runs: '' });
    return results.get(name)!;
  };

  it.each(MODES)('compiles with every declaration checked: %s', (mode) => {
    const result = resultOf(mode);
    expect(compile(folder(), mode)).toEqual([]);
    result.compiles = 'yes';
  });

  it.each(['ESM', 'CommonJS'] as const)('boots, limits and counts: %s', async (mode) => {
    const result = resultOf(mode);
    result.runs = 'no';
    expect(await start(folder(), mode, env)).toEqual({
      statuses: [200, 200, 429],
      answers: [
        { allowed: true, source: store, count: 1, remaining: 1 },
        { allowed: true, source: store, count: 2, remaining: 0 },
      ],
    });
    result.runs = `yes, ${store}`;
  });

  it('brings no package that is optional', () => {
    const optional = Object.keys(packed.manifest.peerDependenciesMeta).filter(
      (name) => name !== 'ioredis' || combination.ioredis === undefined,
    );
    for (const name of optional) {
      expect([name, existsSync(join(folder(), 'node_modules', name))]).toEqual([name, false]);
    }
  });
});
