import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

/** Files of a folder and those below it, by their paths from the root. */
export function filesIn(folder: string, extension: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith(extension))
    .map((path) => join(folder, path))
    .sort();
}

/** Everything that is written to be read. */
export const PAGES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', ...filesIn('docs', '.md')];

export interface Block {
  readonly page: string;
  readonly line: number;
  readonly code: string;
}

/** The fenced blocks of a language. */
export function blocksOf(page: string, language: string): Block[] {
  const text = read(page);
  const fence = new RegExp('^```' + language + '\\n([\\s\\S]*?)^```$', 'gm');
  return [...text.matchAll(fence)].map((match) => ({
    page,
    line: text.slice(0, match.index).split('\n').length,
    code: match[1]!,
  }));
}

/** The text below a heading of the second level, up to the next. */
export function sectionsOf(page: string): Map<string, string> {
  const [, ...sections] = read(page).split(/^## /m);
  return new Map(
    sections.map((section) => {
      const end = section.indexOf('\n');
      return [section.slice(0, end).trim(), section.slice(end)];
    }),
  );
}
