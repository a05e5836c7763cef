import { type Options, transformFileSync } from '@swc/core';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The library and some programs as JavaScript, for processes that Jest does not compile for. */
export interface Build {
  /** Where a source file of the project, named from its root, stands as JavaScript. */
  fileOf(source: string): string;
  remove(): void;
}

/**
 * Compiled as Jest compiles it. The folder lies below node_modules, where packages are found and
 * nothing is linted; the Lua files lie beside the compiled lib/, as they do in the package.
 */
export function build(...programs: string[]): Build {
  const cache = join(ROOT, 'node_modules/.cache/nestjs-sliding-window');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'build-'));
  const options = JSON.parse(readFileSync(join(ROOT, '.swcrc'), 'utf8')) as Options;
  const fileOf = (source: string) => join(folder, source.replace(/\.ts$/, '.js'));
  for (const source of [...sourcesIn(join(ROOT, 'lib')), ...programs]) {
    const { code } = transformFileSync(join(ROOT, source), { ...options, swcrc: false });
    mkdirSync(dirname(fileOf(source)), { recursive: true });
    writeFileSync(fileOf(source), code);
  }
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(ROOT, 'lua'), join(folder, 'lua'));
  return { fileOf, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function sourcesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)));
}
