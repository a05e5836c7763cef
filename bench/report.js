/** Results as tables: for the terminal, and as Markdown for docs/benchmarks.md. */
export function number(value) {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

const COLUMNS = {
  perSecond: 'per second',
  clientMicros: 'client µs',
  redisMicros: 'Redis µs',
  scriptMicros: 'script µs',
  p50Ms: 'p50 ms',
  p99Ms: 'p99 ms',
  loopDelayP99Ms: 'loop delay p99 ms',
  bytes: 'bytes',
};

function cell(value) {
  if (typeof value === 'number') return number(value);
  return `${number(value.median)} (${number(value.min)}–${number(value.max)})`;
}

/** For the terminal: every figure with its spread. */
export function caseTable({ title, rows }) {
  const columns = Object.keys(COLUMNS).filter((column) => rows[0][column] !== undefined);
  const lines = [['', ...columns.map((column) => COLUMNS[column])]];
  for (const row of rows) lines.push([row.name, ...columns.map((column) => cell(row[column]))]);
  const widths = lines[0].map((_, i) => Math.max(...lines.map((line) => line[i].length)));
  return [
    title,
    ...lines.map((line) =>
      line
        .map((text, i) => (i === 0 ? text.padEnd(widths[i]) : text.padStart(widths[i])))
        .join('  '),
    ),
  ].join('\n');
}

export function markdownTable(head, lines) {
  const row = (cells) => `| ${cells.join(' | ')} |`;
  return [row(head), row(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...lines.map(row)].join(
    '\n',
  );
}

export function targetTable(list) {
  return list
    .map(
      ({ what, target, measured, reached }) =>
        `${reached ? 'reached' : 'MISSED '}  ${what}: ${measured.toFixed(2)} × (${target})`,
    )
    .join('\n');
}
