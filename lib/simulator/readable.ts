const UNITS: readonly (readonly [number, string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
];

/** A duration in its largest unit, as a rule would write it: `90 s`, `1.5 h`. */
export function readableMs(millis: number): string {
  const [size, unit] = UNITS.find(([length]) => millis >= length) ?? [1, 'ms'];
  return `${Math.round((millis / size) * 10) / 10} ${unit}`;
}

/** `2026-01-31 12:00:00` UTC. */
export function readableInstant(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ');
}

/** A log's text on one line of a terminal, with nothing in it that a terminal would obey. */
export function printable(text: string, longest: number): string {
  // eslint-disable-next-line no-control-regex
  const plain = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e]/g, '\ufffd');
  return plain.length > longest ? `${plain.slice(0, longest - 1)}…` : plain;
}
