import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** What a checkout would not have; node_modules is linked instead. */
const NOT_COPIED = ['node_modules', 'dist', '.git', '.sample-app', 'coverage', 'docs-api'];

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly bin: Record<string, string>;
  readonly exports: Record<string, string | Record<string, string>>;
  readonly dependencies: Record<string, string>;
  readonly peerDependencies: Record<string, string>;
  readonly peerDependenciesMeta: Record<string, { optional: boolean }>;
}

/** The package as it would be published, and projects that have installed it. */
export interface Packed {
  /** Where the tarball lies; other projects may be put beside it. */
  readonly folder: string;
  readonly tarball: string;
  /** Bytes of the tarball, and of what it holds. */
  readonly size: number;
  readonly unpackedSize: number;
  /** Paths in the tarball. */
  readonly files: readonly string[];
  readonly manifest: Manifest;
  /** A folder with the package in its node_modules, and those packages of ours that are named. */
  project(packages: readonly string[]): string;
  remove(): void;
}

/** Packs a copy of the project, so that neither its dist/ nor a process that reads it is disturbed. */
export function pack(): Packed {
  const folder = mkdtempSync(join(tmpdir(), 'sliding-window-package-'));
  const copy = join(folder, 'copy');
  cpSync(ROOT, copy, {
    recursive: true,
    filter: (path) => dirname(path) + '/' !== ROOT || !NOT_COPIED.includes(basename(path)),
  });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  // prepack builds.
  const output = execFileSync('npm', ['pack', '--json', '--pack-destination', folder], {
    cwd: copy,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [{ filename, files, size, unpackedSize }] = JSON.parse(
    output.slice(output.search(/^\[/m)),
  ) as [{ filename: string; files: { path: string }[]; size: number; unpackedSize: number }];
  const tarball = join(folder, filename);
  let projects = 0;
  return {
    folder,
    tarball,
    size,
    unpackedSize,
    files: files.map(({ path }) => path),
    manifest: JSON.parse(readFileSync(join(copy, 'package.json'), 'utf8')) as Manifest,
    project(packages) {
      const project = join(folder, `project-${projects++}`);
      const installed = join(project, 'node_modules', 'nestjs-sliding-window');
      mkdirSync(installed, { recursive: true });
      execFileSync('tar', ['-xzf', tarball, '-C', installed, '--strip-components', '1']);
      for (const name of packages) {
        const link = join(project, 'node_modules', name);
        mkdirSync(dirname(link), { recursive: true });
        // Node resolves links, so every copy of a project is the same instance of Nest.
        symlinkSync(join(ROOT, 'node_modules', name), link);
      }
      return project;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
