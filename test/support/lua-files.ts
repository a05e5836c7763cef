import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface LuaFile {
  /** From lua/ on: `algorithms/sliding-log.lua`. */
  readonly path: string;
  readonly source: string;
  /** The comment it starts with. */
  readonly head: string;
  readonly code: string;
}

export function luaFiles(): LuaFile[] {
  return readdirSync(`${ROOT}lua`, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.lua'))
    .sort()
    .map((path) => {
      const source = readFileSync(`${ROOT}lua/${path}`, 'utf8');
      const head = /^--\[\[\n([\s\S]*?)\n\]\]\n/.exec(source)?.[1] ?? '';
      const code = source.slice(source.indexOf(']]\n') + 3);
      return { path, source, head, code };
    });
}
