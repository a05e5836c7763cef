import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { read, sectionsOf } from '../docs/pages.js';
import { type Manifest, ROOT } from './scratch.js';

interface Installed {
  readonly name: string;
  readonly license: unknown;
  readonly dependencies?: Record<string, string>;
  readonly optionalDependencies?: Record<string, string>;
}

/** Permissive, and asking for no more than the notice that each package carries itself. */
const ACCEPTED = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD'];

/** Permissive too, but not on every company's list: named one by one. */
const NAMED: Readonly<Record<string, string>> = { 'lru-cache': 'BlueOak-1.0.0' };

const manifestOf = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Installed;

/** The folder in which Node finds a package that is needed in `from`. */
function find(name: string, from: string): string {
  for (const folder of [from, ...parentsOf(from)]) {
    const candidate = join(folder, 'node_modules', name);
    try {
      manifestOf(candidate);
      return candidate;
    } catch {
      continue;
    }
  }
  throw new Error(`${name}, which ${from} needs, is not installed`);
}

/** The projects around a package: what is before each node_modules of its path. */
function parentsOf(folder: string): string[] {
  const parts = folder.split('/node_modules/');
  return parts
    .map((_, i) => parts.slice(0, i).join('/node_modules/'))
    .slice(1)
    .reverse();
}

/** Everything that npm installs for a user of this package. */
function production(folder = ROOT.replace(/\/$/, ''), seen = new Map<string, Installed>()) {
  const { dependencies, optionalDependencies } = manifestOf(folder);
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    const found = find(name, folder);
    if (seen.has(found)) continue;
    seen.set(found, manifestOf(found));
    production(found, seen);
  }
  return seen;
}

const licences = [...production().values()].map(({ name, license }) => ({ name, license }));

it.each(licences)('$name is under a permissive licence', ({ name, license }) => {
  expect([...ACCEPTED, NAMED[name]]).toContain(license);
});

const sections = sectionsOf('docs/packaging.md');

/** The first column of the table in a section. */
const namedIn = (section: string) =>
  [...sections.get(section)!.matchAll(/^\| `([^`]+)` /gm)].map((match) => match[1]).sort();

it('docs/packaging.md names every one of them with its licence', () => {
  expect(namedIn('What it installs')).toEqual(licences.map(({ name }) => name).sort());
  for (const { name, license } of licences) {
    expect(sections.get('What it installs')).toMatch(
      new RegExp(`^\\| \`${name}\` +\\| ${String(license)} +\\|`, 'm'),
    );
  }
});

it('docs/packaging.md names every package that is optional', () => {
  const { peerDependenciesMeta } = JSON.parse(read('package.json')) as Manifest;
  expect(namedIn('What is optional')).toEqual(Object.keys(peerDependenciesMeta).sort());
});
