/** A round number of which about `count` make up `most`: 1, 2 or 5 times a power of ten, at least 1. */
export function countStep(most: number, count: number): number {
  const rough = Math.max(1, most / count);
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough)!;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const TIME_STEPS_MS = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 28, 91, 182, 365].map((days) => days * DAY),
];

/** Instants on round times of the clock (UTC), at most `count` of them in [startAt, endAt]. */
export function timeTicks(startAt: number, endAt: number, count: number): number[] {
  const span = endAt - startAt;
  const step =
    TIME_STEPS_MS.find((length) => span / length < count) ?? Math.ceil(span / count / DAY) * DAY;
  const ticks: number[] = [];
  for (let at = Math.ceil(startAt / step) * step; at <= endAt; at += step) ticks.push(at);
  return ticks;
}

/** As short as a tick of this axis may be: the date where days pass, else the time of day. */
export function tickLabel(at: number, span: number): string {
  const text = new Date(at).toISOString();
  if (span > 4 * DAY) return text.slice(0, 10);
  if (span > DAY) return `${text.slice(5, 10)} ${text.slice(11, 16)}`;
  return span > 10 * MINUTE ? text.slice(11, 16) : text.slice(11, 19);
}
