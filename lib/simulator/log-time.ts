const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** `10/Oct/2025:13:55:36 -0700`, as Apache and nginx write it. */
const CLF =
  /^(\d{2})\/([A-Z][a-z]{2})\/(\d{4}):(\d{2}):(\d{2}):(\d{2})(?:\.(\d+))? ([+-]\d{2}):?(\d{2})$/;
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))? ?(?:Z|([+-]\d{2}):?(\d{2})?)?$/i;
const EPOCH = /^\d{1,19}(?:\.\d*)?$/;

/** The end of the year 9999. */
const LATEST_MS = 253_402_300_799_999;

/**
 * An instant in whole milliseconds since the epoch; undefined for what is none.
 *
 * Takes the time of a common log, ISO 8601 (UTC if it names no zone), and a number or its digits:
 * below 1e11 they are seconds, below 1e14 milliseconds, below 1e17 microseconds, else nanoseconds.
 *
 * @example
 * parseTime('10/Oct/2025:13:55:36 -0700'); // 1760129736000
 * parseTime(1760129736.25);                // 1760129736250
 */
export function parseTime(value: unknown): number | undefined {
  const millis =
    typeof value === 'number' ? ofEpoch(value) : typeof value === 'string' ? ofText(value) : NaN;
  return millis >= 0 && millis <= LATEST_MS ? millis : undefined;
}

function ofText(text: string): number {
  const clf = CLF.exec(text);
  if (clf !== null) {
    const [, day, month, year, hour, minute, second, fraction, zoneHour, zoneMinute] = clf;
    const monthIndex = MONTHS.indexOf(month!);
    return (
      ofParts(year, monthIndex, day, hour, minute, second) +
      millisOf(fraction) -
      zoneMs(zoneHour, zoneMinute)
    );
  }
  const iso = ISO.exec(text);
  if (iso !== null) {
    const [, year, month, day, hour, minute, second, fraction, zoneHour, zoneMinute] = iso;
    return (
      ofParts(year, Number(month) - 1, day, hour, minute, second) +
      millisOf(fraction) -
      zoneMs(zoneHour, zoneMinute)
    );
  }
  return EPOCH.test(text) ? ofEpoch(Number(text)) : NaN;
}

function ofEpoch(value: number): number {
  if (value < 1e11) return Math.floor(value * 1e3);
  if (value < 1e14) return Math.floor(value);
  return Math.floor(value / (value < 1e17 ? 1e3 : 1e6));
}

/** NaN for a day or an hour that does not exist, which Date.UTC would carry over. */
function ofParts(
  year: string | undefined,
  monthIndex: number,
  dayText: string | undefined,
  hour: string | undefined,
  minute: string | undefined,
  second: string | undefined,
): number {
  const day = Number(dayText);
  // 60: a leap second.
  const exists =
    day >= 1 &&
    day <= daysIn(monthIndex, Number(year)) &&
    Number(hour) < 24 &&
    Number(minute) < 60 &&
    Number(second) <= 60;
  return exists
    ? Date.UTC(Number(year), monthIndex, day, Number(hour), Number(minute), Number(second))
    : NaN;
}

/** 0 for a month that does not exist. */
function daysIn(monthIndex: number, year: number): number {
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return monthIndex === 1 && leap ? 29 : (DAYS[monthIndex] ?? 0);
}

function millisOf(fraction: string | undefined): number {
  return fraction === undefined ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0'));
}

function zoneMs(hours: string | undefined, minutes: string | undefined): number {
  if (hours === undefined) return 0;
  const sign = hours.startsWith('-') ? -1 : 1;
  return (Number(hours) * 60 + sign * Number(minutes ?? 0)) * 60_000;
}
