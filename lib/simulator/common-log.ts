import { INVALID_ADDRESS, canonicalAddress } from '../rules/ip-address.js';
import { checkOneOf } from '../errors.js';
import { GLOBAL, type LineParser } from './log-entry.js';
import { parseTime } from './log-time.js';

/**
 * Host, identity, user, time, request, status and bytes; in the combined format referrer and agent
 * too. Quotes inside a field are escaped by a backslash. What follows is not looked at.
 */
const LINE =
  /^(\S+) \S+ (\S.*?) \[([^\]]+)\] "([^"\\]*(?:\\.[^"\\]*)*)" (?:\d{3}|-) (?:\d+|-)(?: "[^"\\]*(?:\\.[^"\\]*)*" "([^"\\]*(?:\\.[^"\\]*)*)")?/;

const REQUEST_PATH = /^\S+ ([^\s?]+)/;

type Field = (match: RegExpExecArray, ipv6Prefix: number) => string | undefined;

const FIELDS: Readonly<Record<string, Field>> = {
  ip: (match, ipv6Prefix) => {
    const address = canonicalAddress(match[1], ipv6Prefix);
    return address === INVALID_ADDRESS ? undefined : address;
  },
  host: (match) => match[1],
  user: (match) => (match[2] === '-' ? undefined : match[2]),
  path: (match) => REQUEST_PATH.exec(match[4]!)?.[1],
  agent: (match) => match[5],
  [GLOBAL]: () => GLOBAL,
};

/**
 * Lines of the common or, with `combined`, of the combined log format. Of `by` the first field that
 * a line has is its subject.
 */
export function commonLog(
  by: readonly string[],
  ipv6Prefix: number,
  combined: boolean,
): LineParser {
  const fields = by.map((name) => FIELDS[checkOneOf(name, Object.keys(FIELDS), '--by')]!);
  const format = combined ? 'combined' : 'common';
  return (line) => {
    const match = LINE.exec(line);
    if (match === null || (combined && match[5] === undefined)) {
      return `not of the ${format} log format`;
    }
    const at = parseTime(match[3]);
    if (at === undefined) return 'no time';
    for (const field of fields) {
      const subject = field(match, ipv6Prefix);
      if (subject !== undefined) return { at, subject };
    }
    return `no ${by.join(', no ')}`;
  };
}
