import { checkInteger, checkOneOf, configError } from '../errors.js';
import { commonLog } from './common-log.js';
import { jsonLines } from './json-lines.js';
import type { LineParser } from './log-entry.js';

export const LOG_FORMATS = ['auto', 'common', 'combined', 'json'] as const;

export type LogFormat = (typeof LOG_FORMATS)[number];

/** How lines are read, and whom they count. */
export interface FormatOptions {
  /** `'auto'`: JSON where the first line begins with `{`, else common, with or without more. */
  readonly format: LogFormat;
  /** Names of fields, separated by commas; the first that a line has is its subject. */
  readonly by: string;
  readonly ipv6Prefix: number;
  /** Of JSON lines. @default the first of time, timestamp, @timestamp, ts */
  readonly timeField: string | undefined;
}

/** Throws RateLimitConfigError, for `'auto'` at the first line, when the format is known. */
export function lineParser(options: FormatOptions): LineParser {
  const format = checkOneOf(options.format, LOG_FORMATS, '--format');
  checkInteger(options.ipv6Prefix, '--ipv6-prefix', 1, 128);
  if (format !== 'auto') return parserOf(format, options);
  let parse: LineParser | undefined;
  return (line) => {
    parse ??= parserOf(line.startsWith('{') ? 'json' : 'common', options);
    return parse(line);
  };
}

function parserOf(format: LogFormat, options: FormatOptions): LineParser {
  const { by, ipv6Prefix, timeField } = options;
  const fields = by.split(',').map((name) => name.trim());
  if (fields.includes('')) throw configError.badValue('--by', by, 'names of fields');
  if (format === 'json') return jsonLines(fields, ipv6Prefix, timeField);
  if (timeField !== undefined) {
    throw configError.badValue('--time-field', timeField, 'it for JSON lines alone');
  }
  return commonLog(fields, ipv6Prefix, format === 'combined');
}
