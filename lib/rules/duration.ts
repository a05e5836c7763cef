import ms, { type StringValue } from 'ms';
import { configError } from '../errors.js';

/** Milliseconds, seconds, minutes, hours, days. */
export type DurationUnit = 'ms' | 's' | 'm' | 'h' | 'd';

/** Milliseconds, or a number with its unit: `500`, `'500ms'`, `'10s'`, `'5m'`, `'1h'`, `'1d'`. */
export type Duration = number | `${number}${DurationUnit}` | `${number} ${DurationUnit}`;

/** The longest window: a year. */
export const LONGEST_MS = 365 * 24 * 60 * 60 * 1000;

const ACCEPTED = `milliseconds or a string like '500ms', '10s', '5m', '1h', '1d', from 1 ms to 365 days`;

/** A duration in whole milliseconds, at least 1 and at most a year. */
export function parseDuration(value: unknown, path: string): number {
  const millis = typeof value === 'string' ? parseText(value) : value;
  if (
    typeof millis !== 'number' ||
    !Number.isInteger(millis) ||
    millis < 1 ||
    millis > LONGEST_MS
  ) {
    throw configError.badValue(path, value, ACCEPTED);
  }
  return millis;
}

function parseText(text: string): number | undefined {
  // ms takes a bare number for milliseconds; a string without a unit is more likely a mistake.
  if (text.length > 30 || !/[a-z]$/i.test(text)) return undefined;
  return ms(text as StringValue);
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
] as const;

/** `1m`, `90s`, `1500ms`. */
export function windowText(ms: number): string {
  const [size, unit] = UNITS.find(([unitMs]) => ms % unitMs === 0) ?? [1, 'ms'];
  return `${ms / size}${unit}`;
}
