import { writeFileSync } from 'node:fs';
import { parse, View } from 'vega';
import { compile } from 'vega-lite';

const OURS = '#c2410c';
const OTHERS = [
  '#334155',
  '#64748b',
  '#0e7490',
  '#94a3b8',
  '#a16207',
  '#cbd5e1',
  '#166534',
  '#6b21a8',
];

const CONFIG = {
  background: 'white',
  font: 'sans-serif',
  view: { stroke: null },
  axis: { grid: true, gridColor: '#e2e8f0' },
};

const figure = (row, column) => row[column].median ?? row[column];

/** Ours in one colour everywhere, the others in the order in which they come. */
function colours(names) {
  let others = 0;
  return names.map((name) =>
    name.startsWith('nestjs-sliding-window') ? OURS : OTHERS[others++ % OTHERS.length],
  );
}

function bars(title, axis, rows, column) {
  const values = rows.map((row) => ({
    name: row.name,
    value: figure(row, column),
    min: row[column].min,
    max: row[column].max,
    ours: row.name.startsWith('nestjs-sliding-window'),
  }));
  const y = { field: 'name', type: 'nominal', sort: null, axis: { title: null, labelLimit: 260 } };
  return {
    title,
    width: 460,
    height: { step: 24 },
    data: { values },
    layer: [
      {
        mark: 'bar',
        encoding: {
          y,
          x: { field: 'value', type: 'quantitative', title: axis },
          color: { condition: { test: 'datum.ours', value: OURS }, value: '#94a3b8' },
        },
      },
      {
        mark: { type: 'rule', strokeWidth: 1.5 },
        encoding: { y, x: { field: 'min', type: 'quantitative' }, x2: { field: 'max' } },
      },
    ],
  };
}

/** `series`: [x, rows] each. */
function lines(title, [xTitle, yTitle], series, column, scales = {}) {
  const values = series.flatMap(([x, rows]) =>
    rows.map((row) => ({ x, name: row.name, value: figure(row, column) })),
  );
  const names = [...new Set(values.map(({ name }) => name))];
  return {
    title,
    width: 460,
    height: 260,
    data: { values },
    mark: { type: 'line', point: true },
    encoding: {
      x: { field: 'x', type: 'quantitative', title: xTitle, scale: { type: scales.x ?? 'linear' } },
      y: {
        field: 'value',
        type: 'quantitative',
        title: yTitle,
        scale: { type: scales.y ?? 'linear' },
      },
      color: {
        field: 'name',
        type: 'nominal',
        sort: null,
        scale: { domain: names, range: colours(names) },
        legend: { title: null, labelLimit: 260 },
      },
    },
  };
}

const CALLERS = ['callers-1', 'callers-16', 'admitted', 'callers-1000'];

/** Every plot by the name of its file. */
function plots({ cases, open, growth, bytes }) {
  const rate = 'decisions per second';
  return {
    admitted: bars('Admitted, 128 callers, 1 000 keys', rate, cases.admitted.rows, 'perSecond'),
    denied: bars('Denied, 128 callers, 1 000 keys', rate, cases.denied.rows, 'perSecond'),
    'client-cpu': bars(
      'Client CPU, admitted',
      'µs per decision',
      cases.admitted.rows,
      'clientMicros',
    ),
    'redis-cpu': bars('Redis CPU, admitted', 'µs per decision', cases.admitted.rows, 'redisMicros'),
    callers: lines(
      'Admitted, 1 000 keys',
      ['callers', rate],
      CALLERS.map((id) => [cases[id].callers, cases[id].rows]),
      'perSecond',
      { x: 'log' },
    ),
    latency: lines(
      'Latency at a fixed arrival rate, p99',
      ['arrivals per second', 'ms'],
      open.map((one) => [one.rate, one.rows]),
      'p99Ms',
      { x: 'log', y: 'log' },
    ),
    growth: lines(
      'Processes that share one Redis, 32 callers each',
      ['processes', rate],
      growth.map((one) => [one.processes, one.rows]),
      'perSecond',
    ),
    bytes: lines(
      'Bytes of a subject',
      ['admitted requests in the window', 'bytes'],
      bytes.map((one) => [one.entries, one.rows]),
      'bytes',
      { x: 'log', y: 'log' },
    ),
  };
}

/** Writes `<name>.svg` for each plot. */
export async function writePlots(results, folder) {
  for (const [name, plot] of Object.entries(plots(results))) {
    const { spec } = compile({ config: CONFIG, ...plot });
    const svg = await new View(parse(spec), { renderer: 'none' }).toSVG();
    writeFileSync(`${folder}/${name}.svg`, svg + '\n');
  }
}
