import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import ts from 'typescript';
import { PROGRAM } from './program.js';

const run = promisify(execFile);

/** How a project resolves and emits modules. */
export type Mode = 'ESM' | 'CommonJS' | 'bundler';

const FILES: Record<Mode, string> = { ESM: 'app.mts', CommonJS: 'app.cts', bundler: 'app.ts' };

/** A folder into which npm has installed the tarball and what a user would install with it. */
export async function install(folder: string, tarball: string, packages: readonly string[]) {
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: basename(folder) }));
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--save-exact'];
  await run('npm', ['install', ...flags, tarball, ...packages], { cwd: folder });
  for (const file of Object.values(FILES)) writeFileSync(join(folder, file), PROGRAM);
}

/** Compiles the program strictly, with every declaration that it reaches; gives what is wrong. */
export function compile(folder: string, mode: Mode): string[] {
  const bundler = mode === 'bundler';
  const program = ts.createProgram([join(folder, FILES[mode])], {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts'],
    module: bundler ? ts.ModuleKind.ESNext : ts.ModuleKind.NodeNext,
    moduleResolution: bundler ? ts.ModuleResolutionKind.Bundler : ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: false,
    noEmit: bundler,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    types: ['node'],
    typeRoots: [join(folder, 'node_modules/@types')],
  });
  const { diagnostics } = program.emit();
  return [...ts.getPreEmitDiagnostics(program), ...diagnostics].map(
    ({ file, messageText }) =>
      `${file?.fileName.replace(folder, '') ?? ''}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
  );
}

/** Runs what `compile` has emitted; gives what the program printed last. */
export async function start(folder: string, mode: 'ESM' | 'CommonJS', env: NodeJS.ProcessEnv) {
  const file = FILES[mode].replace('ts', 'js');
  const { stdout } = await run(process.execPath, [file], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...env },
  });
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as unknown;
}
