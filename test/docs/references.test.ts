import { describe, expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ALGORITHM_NAMES } from '../../lib/algorithms/registry.js';
import { filesIn, PAGES, read, ROOT, sectionsOf } from './pages.js';

/** As GitHub makes it of a heading. */
function anchorsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.*)$/gm)].map((match) =>
    match[1]!
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

describe.each(ALGORITHM_NAMES)('the page of %s', (name) => {
  const page = `docs/algorithms/${name}.md`;

  it('tells all that is to be told of an algorithm', () => {
    expect(read(page).startsWith(`# ${name}\n`)).toBe(true);
    expect([...sectionsOf(page).keys()]).toEqual([
      'Promise',
      'Drawing',
      'State',
      'Arithmetic',
      'Error bound',
      'Cost',
      'When not to use it',
      'Twins',
    ]);
  });

  it('points to both twins, and is pointed to by the README', () => {
    const twins = sectionsOf(page).get('Twins')!;
    expect(twins).toContain(`lua/algorithms/${name}.lua`);
    expect(twins).toContain(`lib/algorithms/${name}.ts`);
    expect(read('README.md')).toContain(`(${page})`);
  });
});

describe('what refers to a page', () => {
  it.each([...filesIn('lib', '.ts'), ...filesIn('lua', '.lua')])(
    '%s names one that exists',
    (path) => {
      for (const [page] of read(path).matchAll(/docs\/[\w./-]+\.md/g)) {
        expect([page, existsSync(join(ROOT, page))]).toEqual([page, true]);
      }
    },
  );

  it.each(PAGES)('%s has no link that leads nowhere', (page) => {
    for (const [, link] of read(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path, anchor] = link!.split('#') as [string, string?];
      const target = path === '' ? page : join(dirname(page), path);
      expect([link, existsSync(join(ROOT, target))]).toEqual([link, true]);
      if (anchor !== undefined) expect(anchorsOf(target)).toContain(anchor);
    }
  });

  it.each(PAGES)('%s names no script, file or folder that is not there', (page) => {
    const text = read(page);
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    for (const [, script] of text.matchAll(/npm run ([\w:-]+)/g)) {
      expect(Object.keys(scripts)).toContain(script);
    }
    for (const [, path] of text.matchAll(/`((?:lib|lua|test|sample-app)\/[\w./-]*)`/g)) {
      expect([path, existsSync(join(ROOT, path!))]).toEqual([path, true]);
    }
  });
});

describe('docs/decisions', () => {
  const pages = filesIn('docs/decisions', '.md');

  it('are numbered without a gap', () => {
    expect(pages.map((page) => page.replace(/^.*\/(\d{4})-.*$/, '$1'))).toEqual(
      pages.map((_, i) => String(i + 1).padStart(4, '0')),
    );
  });

  it.each(pages)('%s tells context, choice and consequences', (page) => {
    expect(read(page)).toMatch(new RegExp(`^# ${/\d{4}/.exec(page)![0]}: `));
    expect([...sectionsOf(page).keys()]).toEqual(['Context', 'Choice', 'Consequences']);
  });
});
