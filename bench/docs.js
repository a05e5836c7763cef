// Writes the figures of bench/results/redis.json into docs/benchmarks.md, between its markers.
// npm run bench:docs; with --check it only tells whether the page shows them.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { capacity } from './capacity.js';
import { markdownTable, number } from './report.js';
import { aloneRatio } from './targets.js';

const RESULTS = fileURLToPath(new URL('results/redis.json', import.meta.url));
const PAGE = fileURLToPath(new URL('../docs/benchmarks.md', import.meta.url));

const median = (row, column) => (row === undefined ? '–' : number(row[column].median));
const withSpread = (row, column) => {
  if (row === undefined) return '–';
  const { median, min, max } = row[column];
  return `${number(median)} (${number(min)}–${number(max)})`;
};

const rowOf = (rows, id) => rows.find((row) => row.id === id);

/** Every contestant of these rows once, in the order in which they come. */
function everyone(...lists) {
  return [...new Map(lists.flat().map(({ id, name }) => [id, name]))];
}

function environment({ environment: e, length }) {
  const packages = Object.entries(e.packages).map(([name, version]) => `${name} ${version}`);
  return [
    `Taken ${e.takenAt} on ${e.cpu}, ${e.cores} cores, ${e.memoryGb} GB, ${e.platform}; Node ${e.node}, Redis ${e.redis}.`,
    `${packages.join(', ')}.`,
    `Median of ${length.rounds} interleaved rounds of ${length.millis} ms, least and most in brackets.`,
  ].join('\n');
}

function summary({ cases: { admitted, denied } }) {
  const lines = everyone(admitted.rows, denied.rows).map(([id, name]) => {
    const a = rowOf(admitted.rows, id);
    const d = rowOf(denied.rows, id);
    return [
      name,
      withSpread(a, 'perSecond'),
      withSpread(d, 'perSecond'),
      ...['clientMicros', 'redisMicros', 'scriptMicros'].map(
        (column) => `${median(a, column)} / ${median(d, column)}`,
      ),
    ];
  });
  return markdownTable(['', 'admitted/s', 'denied/s', 'client µs', 'Redis µs', 'script µs'], lines);
}

function across(cases, ids, heads) {
  const lists = ids.map((id) => cases[id].rows);
  const lines = everyone(...lists).map(([id, name]) => [
    name,
    ...lists.map((rows) => withSpread(rowOf(rows, id), 'perSecond')),
  ]);
  return markdownTable(['decisions/s', ...heads], lines);
}

function callers({ cases }) {
  const ids = ['callers-1', 'callers-16', 'admitted', 'callers-1000'];
  return across(cases, ids, ['1 caller', '16', '128', '1 000']);
}

function keys({ cases }) {
  return across(cases, ['keys-1', 'admitted', 'keys-100000'], ['1 key', '1 000', '100 000']);
}

function policies({ cases }) {
  const lines = Object.values(cases)
    .filter(({ group }) => group === 'algorithms')
    .flatMap(({ title, rows }) => [[title.replace('Algorithms: ', ''), rows[0]]]);
  const rules = cases['three-rules'].rows.map((row) => [`3 rules: ${row.name}`, row]);
  return markdownTable(
    ['', 'admitted/s', 'client µs', 'Redis µs', 'script µs'],
    [...lines, ...rules].map(([name, row]) => [
      name,
      withSpread(row, 'perSecond'),
      ...['clientMicros', 'redisMicros', 'scriptMicros'].map((column) => median(row, column)),
    ]),
  );
}

function latency({ open }) {
  const lines = everyone(...open.map(({ rows }) => rows)).map(([id, name]) => [
    name,
    ...open.flatMap(({ rows }) => {
      const row = rowOf(rows, id);
      return [`${median(row, 'p50Ms')} / ${median(row, 'p99Ms')}`, median(row, 'loopDelayP99Ms')];
    }),
  ]);
  const heads = open.flatMap(({ rate }) => [
    `${rate.toLocaleString('en')}/s: p50 / p99 ms`,
    'loop delay p99 ms',
  ]);
  return markdownTable(['', ...heads], lines);
}

function alone(results) {
  const rows = results.cases['callers-1'].rows;
  return `One caller: ${withSpread(rowOf(rows, 'ours'), 'perSecond')} decisions/s, ${withSpread(rowOf(rows, 'same-script'), 'perSecond')} plain EVALSHA of the same script with the same arguments: ratio ${aloneRatio(results).toFixed(2)}.`;
}

function bytes({ bytes }) {
  const lines = bytes[0].rows.map(({ name }, i) => [
    name,
    ...bytes.map(({ rows }) => rows[i].bytes.toLocaleString('en')),
  ]);
  const heads = bytes.map(({ entries }) => `${entries.toLocaleString('en')} hits`);
  return markdownTable(['bytes of a subject', ...heads], lines);
}

function growth({ growth }) {
  const lines = growth.flatMap(({ processes, rows }) =>
    rows.map((row) => [
      `${processes}: ${row.name}`,
      withSpread(row, 'perSecond'),
      ...['clientMicros', 'redisMicros'].map((column) => median(row, column)),
    ]),
  );
  return markdownTable(['processes', 'admitted/s', 'client µs', 'Redis µs'], lines);
}

function masters({ cases }) {
  const lines = ['masters-1', 'masters-3'].flatMap((id) =>
    cases[id].rows.map((row) => [
      `${id.split('-')[1]}: ${row.name}`,
      withSpread(row, 'perSecond'),
      ...['clientMicros', 'redisMicros'].map((column) => median(row, column)),
    ]),
  );
  return markdownTable(['masters', 'admitted/s', 'client µs', 'Redis µs, all masters'], lines);
}

function instances(results) {
  const lines = capacity(results).map(({ instances, perInstance, together, alone, batched }) => [
    `${instances} × ${perInstance.toLocaleString('en')}/s`,
    together.toLocaleString('en'),
    `${(100 * alone).toFixed(0)} %`,
    `${(100 * batched).toFixed(0)} %`,
  ]);
  return markdownTable(
    ['instances', 'decisions/s', 'of one Redis core, each alone in its call', '64 in a call'],
    lines,
  );
}

function promised({ targets }) {
  const lines = targets.map(({ what, target, measured, reached }) => [
    what,
    target,
    `${measured.toFixed(2)} ×`,
    reached ? 'yes' : '**no**',
  ]);
  return markdownTable(['target', '', 'measured', 'reached'], lines);
}

const PARTS = {
  ...{ environment, summary, callers, keys, policies, latency, alone },
  ...{ bytes, growth, masters, instances, targets: promised },
};

function render(page, results) {
  let text = page;
  for (const [name, part] of Object.entries(PARTS)) {
    const [begin, end] = [`<!-- bench: ${name} -->\n`, '\n<!-- bench end -->'];
    const from = text.indexOf(begin);
    const to = text.indexOf(end, from);
    if (from < 0 || to < 0) throw new Error(`docs/benchmarks.md has no place for ${name}`);
    text = `${text.slice(0, from)}${begin}\n${part(results)}\n${text.slice(to)}`;
  }
  return text;
}

const page = readFileSync(PAGE, 'utf8');
const text = render(page, JSON.parse(readFileSync(RESULTS, 'utf8')));
const rendered = await format(text, { ...(await resolveConfig(PAGE)), filepath: PAGE });
if (process.argv.includes('--check')) {
  if (rendered !== page) throw new Error('docs/benchmarks.md is stale: npm run bench:docs');
} else writeFileSync(PAGE, rendered);
