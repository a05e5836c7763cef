import { canonicalSubject } from '../rules/ip-address.js';
import { GLOBAL, type LineParser } from './log-entry.js';
import { parseTime } from './log-time.js';

/** Where the time is looked for when no field is named. */
const TIME_FIELDS = ['time', 'timestamp', '@timestamp', 'ts'];

/**
 * One JSON object per line. Of `by` the first field that a line has is its subject; a dot leads into
 * nested objects. Addresses are counted in their canonical form, in whatever field they stand.
 */
export function jsonLines(
  by: readonly string[],
  ipv6Prefix: number,
  timeField?: string,
): LineParser {
  const timeFields = timeField === undefined ? TIME_FIELDS : [timeField];
  return (line) => {
    const object = objectIn(line);
    if (object === undefined) return 'not a JSON object';
    const time = firstOf(object, timeFields);
    if (time === undefined) return `no field ${timeFields.join(', no ')}`;
    const at = parseTime(time);
    if (at === undefined) return 'no time';
    for (const name of by) {
      const value = name === GLOBAL ? GLOBAL : fieldOf(object, name);
      const text = typeof value === 'number' ? String(value) : value;
      if (typeof text === 'string' && text !== '') {
        return { at, subject: canonicalSubject(text, ipv6Prefix) };
      }
    }
    return `no field ${by.join(', no ')}`;
  };
}

function objectIn(line: string): object | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function firstOf(object: object, names: readonly string[]): unknown {
  for (const name of names) {
    const value = fieldOf(object, name);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** The field of that very name, dots and all, or the one that the dots lead to. */
function fieldOf(object: object, name: string): unknown {
  if (Object.hasOwn(object, name)) return (object as Record<string, unknown>)[name];
  let value: unknown = object;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) {
      return undefined;
    }
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
