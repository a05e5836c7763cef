import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ts from 'typescript';
import { pack, type Packed, ROOT } from './scratch.js';

const run = promisify(execFile);
const APP = fileURLToPath(new URL('app.js', import.meta.url));

let packed: Packed;
beforeAll(() => {
  packed = pack();
}, 60_000);
afterAll(() => packed?.remove());

/** What npm installs with the package, the platform the application brings, and what it adds. */
function packagesWith(...optional: string[]): string[] {
  const { dependencies, peerDependencies, peerDependenciesMeta } = packed.manifest;
  const required = Object.keys({ ...dependencies, ...peerDependencies }).filter(
    (name) => peerDependenciesMeta[name]?.optional !== true,
  );
  return [...required, '@nestjs/platform-express', ...optional];
}

/** Runs a program in a project that has the package installed; gives the last line it prints. */
async function node(project: string, file: string, env: NodeJS.ProcessEnv = {}) {
  const { stdout } = await run(process.execPath, [file], {
    cwd: project,
    env: { PATH: process.env.PATH, ...env },
  });
  return stdout.trim().split('\n').at(-1)!;
}

async function runApp(packages: readonly string[], env: NodeJS.ProcessEnv) {
  const project = packed.project(packages);
  copyFileSync(APP, join(project, 'app.mjs'));
  return JSON.parse(await node(project, 'app.mjs', env)) as Record<string, unknown>;
}

describe('the tarball', () => {
  it('holds the build, the Lua files and the papers, and nothing else', () => {
    const others = packed.files.filter((path) => !/^(dist|lua)\//.test(path));
    expect(others.filter((path) => path !== 'CHANGELOG.md').sort()).toEqual([
      'LICENSE',
      'README.md',
      'package.json',
    ]);
    const kinds = /^(dist\/.*\.(js|d\.ts)|lua\/.*\.lua|lua\/README\.md)$/;
    const built = packed.files.filter((path) => /^(dist|lua)\//.test(path));
    expect(built.filter((path) => !kinds.test(path))).toEqual([]);
    expect(built).toEqual(expect.arrayContaining(sources('lib', '.ts', 'dist', '.js')));
    expect(built).toEqual(expect.arrayContaining(sources('lua', '.lua', 'lua', '.lua')));
  });

  it('holds every file that an export names', () => {
    const named = Object.entries(packed.manifest.exports)
      // The test kit comes with its source.
      .filter(([name]) => name !== './testing' || existsSync(sourceOfTesting))
      .flatMap(([, target]) => (typeof target === 'string' ? [target] : Object.values(target)));
    for (const path of named) expect(packed.files).toContain(path.replace('./', ''));
  });

  it('is small', () => {
    expect(packed.size).toBeLessThan(250_000);
    expect(packed.unpackedSize).toBeLessThan(900_000);
  });

  it.each([
    ['publint', ['--strict']],
    ['attw', ['--profile', 'esm-only', '--no-color']],
  ])('is found without fault by %s', async (tool, flags) => {
    const cli = join(ROOT, 'node_modules/.bin', tool);
    await expect(run(cli, [packed.tarball, ...flags])).resolves.toBeDefined();
  });
});

/** Where the files of a folder are expected in the tarball. */
function sources(folder: string, from: string, target: string, to: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(from))
    .map((path) => `${target}/${path.slice(0, -from.length)}${to}`);
}

const sourceOfTesting = join(ROOT, 'lib/testing/index.ts');

describe('an application that has installed the package', () => {
  const outcome = {
    statuses: [200, 200, 429],
    retryAfter: expect.stringMatching(/^(60|59)$/),
    policyField: '"CatsController-list";q=2;w=60',
    remaining: [3, 3, 3, 3],
    count: 1,
  };

  it('limits and counts in process, without ioredis', async () => {
    const result = await runApp(packagesWith(), {});
    expect(result).toEqual({ ...outcome, source: 'memory' });
  });

  it('limits and counts on Redis, with the Lua files of the package', async () => {
    const result = await runApp(packagesWith('ioredis'), { REDIS_URL: process.env.REDIS_URL });
    expect(result).toEqual({ ...outcome, source: 'redis' });
  });

  it('is told what to install when it names a Redis and has no ioredis', async () => {
    const env = { REDIS_URL: process.env.REDIS_URL };
    await expect(runApp(packagesWith(), env)).rejects.toThrow(
      /ioredis: is needed for the option `redis`; install it: npm install ioredis/,
    );
  });

  it('can require the package from CommonJS', async () => {
    const project = packed.project(packagesWith());
    writeFileSync(
      join(project, 'main.cjs'),
      `const { RateLimit, SlidingWindowModule } = require('nestjs-sliding-window');
       console.log(typeof RateLimit, typeof SlidingWindowModule.forRoot);`,
    );
    expect(await node(project, 'main.cjs')).toBe('function function');
  });

  it('can read the manifest, and nothing that is not exported', async () => {
    const project = packed.project(packagesWith());
    writeFileSync(
      join(project, 'main.mjs'),
      `import manifest from 'nestjs-sliding-window/package.json' with { type: 'json' };
       const deep = await import('nestjs-sliding-window/dist/index.js').catch((e) => e.code);
       console.log(manifest.name, deep);`,
    );
    expect(await node(project, 'main.mjs')).toBe(
      'nestjs-sliding-window ERR_PACKAGE_PATH_NOT_EXPORTED',
    );
  });

  it('finds the test kit', async () => {
    const project = packed.project(packagesWith('@nestjs/testing'));
    writeFileSync(
      join(project, 'main.mjs'),
      `console.log(Object.keys(await import('nestjs-sliding-window/testing')).length > 0);`,
    );
    expect(await node(project, 'main.mjs')).toBe('true');
  });
});

describe('the command line', () => {
  it('is executable, and runs with the dependencies of the package alone', async () => {
    const project = packed.project(Object.keys(packed.manifest.dependencies));
    const installed = join(project, 'node_modules', packed.manifest.name);
    const command = join(installed, packed.manifest.bin[packed.manifest.name]!);
    const { stdout } = await run(command, ['simulate', '--rule', '2/1m', '--json', 'access.log'], {
      cwd: writeLog(project),
    });
    expect(JSON.parse(stdout)).toMatchObject({ candidates: [{ rule: '2/1m', denied: 1 }] });
    const version = await run(command, ['--version']);
    expect(version.stdout.trim()).toBe(packed.manifest.version);
  });

  it('is not loaded by an application', async () => {
    const ofTheCommand = ['commander', 'cli-table3', 'cli-progress'];
    const packages = packagesWith().filter((name) => !ofTheCommand.includes(name));
    expect(await runApp(packages, {})).toMatchObject({ source: 'memory' });
  });

  /** Three requests of one address. */
  function writeLog(folder: string): string {
    const line = '192.0.2.7 - - [01/Jan/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 5\n';
    writeFileSync(join(folder, 'access.log'), line.repeat(3));
    return folder;
  }
});

describe('the type declarations', () => {
  const CONSUMER = `
    import { Controller, Get, Module } from '@nestjs/common';
    import { type Decision, LimitType, RateLimit, RateLimitInfo, RateLimiterService,
      SlidingWindowModule, type SlidingWindowOptions } from 'nestjs-sliding-window';

    const options: SlidingWindowOptions = { keyPrefix: 'app', headers: 'both' };

    @Controller('cats')
    export class CatsController {
      constructor(private readonly limiter: RateLimiterService) {}
      @Get()
      @RateLimit(LimitType.IP, [{ limit: 10, window: '1s' }, '100/1m'], { cost: 2 })
      async list(@RateLimitInfo() info: Decision | undefined): Promise<number | null> {
        const decision = await this.limiter.consume({ name: 'cats', rules: '5/s' }, 'tom');
        return info === undefined ? null : decision.retryAfterMs;
      }
    }

    @Module({ imports: [SlidingWindowModule.forRoot(options)], controllers: [CatsController] })
    export class AppModule {}

    // @ts-expect-error
    RateLimit(LimitType.IP, { limit: 10, window: 'a minute' });
    // @ts-expect-error
    SlidingWindowModule.forRoot({ redsi: 'redis://localhost' });
  `;

  /** Errors of the consumer; with `skipLibCheck: false` those of every declaration it reaches too. */
  function check(
    packages: readonly string[],
    options: ts.CompilerOptions,
    source = CONSUMER,
  ): string[] {
    const project = packed.project([...packages, '@types/node']);
    const file = join(project, 'consumer.mts');
    writeFileSync(file, source);
    const program = ts.createProgram([file], {
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2023.d.ts'],
      module: ts.ModuleKind.NodeNext,
      strict: true,
      noEmit: true,
      experimentalDecorators: true,
      types: ['node'],
      typeRoots: [join(project, 'node_modules/@types')],
      ...options,
    });
    return ts
      .getPreEmitDiagnostics(program)
      .map(
        ({ file: at, messageText }) =>
          `${at?.fileName ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
      );
  }

  it('compile in a strict project that checks its libraries', () => {
    expect(check(packagesWith('ioredis'), { skipLibCheck: false })).toEqual([]);
  });

  it('compile without anything that is optional', () => {
    expect(check(packagesWith(), { skipLibCheck: false })).toEqual([]);
  });

  it('of the test kit compile with the package it works on', () => {
    const source = `import { SlidingWindowTestingModule } from 'nestjs-sliding-window/testing';
      SlidingWindowTestingModule.forRoot().advance('1m');`;
    expect(check(packagesWith('@nestjs/testing'), { skipLibCheck: false }, source)).toEqual([]);
  });
});
