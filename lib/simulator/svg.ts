import { countStep, tickLabel, timeTicks } from './axes.js';
import { printable, readableInstant, readableMs } from './readable.js';
import type { Report } from './report.js';

const WIDTH = 960;
const PLOT = { left: 72, right: 24, height: 320 };
const LEGEND_TOP = 56;
const LEGEND_ROW = 22;

/** Told apart by their dashes too, for eyes and printers that see no colour. */
const DASHES = ['', '8 4', '2 3', '10 3 2 3', '14 4', '1 5'];

const STYLE = `
  svg { color: #1f2328; background: #ffffff; font: 13px system-ui, sans-serif; }
  text { fill: currentColor; }
  .title { font-size: 17px; font-weight: 600; }
  .axis { stroke: currentColor; stroke-width: 1; }
  .grid { stroke: currentColor; stroke-width: 1; opacity: 0.15; }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .c0 { stroke: #0969da; } .c1 { stroke: #bc4c00; } .c2 { stroke: #1a7f37; }
  .c3 { stroke: #8250df; } .c4 { stroke: #bf3989; } .c5 { stroke: #6e7781; }
  @media (prefers-color-scheme: dark) {
    svg { color: #e6edf3; background: #0d1117; }
    .c0 { stroke: #58a6ff; } .c1 { stroke: #f0883e; } .c2 { stroke: #3fb950; }
    .c3 { stroke: #bc8cff; } .c4 { stroke: #f778ba; } .c5 { stroke: #9198a1; }
  }
`;

/** A plot of what each candidate denied over time: one file, no script, light and dark. */
export function svgOf(report: Report): string {
  const { startAt, bucketMs, requests, denied } = report.timeline;
  const top = LEGEND_TOP + report.candidates.length * LEGEND_ROW + 16;
  const bottom = top + PLOT.height;
  const span = Math.max(1, requests.length) * bucketMs;
  const most = denied.reduce((peak, counts) => counts.reduce((a, b) => Math.max(a, b), peak), 0);
  const step = countStep(Math.max(1, most), 5);
  const ceiling = Math.max(1, Math.ceil(most / step)) * step;
  const x = (at: number) =>
    round(PLOT.left + ((at - startAt) / span) * (WIDTH - PLOT.left - PLOT.right));
  const y = (count: number) => round(bottom - (count / ceiling) * PLOT.height);
  const title = `Requests denied per ${readableMs(bucketMs)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" viewBox="0 0 ${WIDTH} ${bottom + 52}">`,
    `<title id="title">${title}</title>`,
    `<desc id="desc">${escape(description(report))}</desc>`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="${PLOT.left}" y="30">${title}</text>`,
    ...legend(report),
    ...countAxis(step, ceiling, y),
    ...timeAxis(startAt, startAt + span, x, bottom),
    ...denied.map((counts, i) => line(counts, i, (place) => x(startAt + place * bucketMs), y)),
    '</svg>',
    '',
  ].join('\n');
}

function description({ log, candidates }: Report): string {
  if (log.firstAt === null || log.lastAt === null) return 'No requests.';
  const sums = candidates.map(({ rule, denied }) => `${rule}: ${denied} denied`).join('; ');
  return `${log.requests} requests from ${readableInstant(log.firstAt)} to ${readableInstant(log.lastAt)} UTC. ${sums}.`;
}

function legend({ candidates }: Report): string[] {
  return candidates.flatMap(({ rule, denied, deniedPercent }, i) => {
    const middle = LEGEND_TOP + i * LEGEND_ROW;
    return [
      `<line class="line c${i % DASHES.length}" ${dashes(i)}x1="${PLOT.left}" x2="${PLOT.left + 36}" y1="${middle}" y2="${middle}"/>`,
      `<text x="${PLOT.left + 46}" y="${middle + 4}">${escape(printable(rule, 80))}: ${denied} denied (${deniedPercent.toFixed(2)} %)</text>`,
    ];
  });
}

function countAxis(step: number, ceiling: number, y: (count: number) => number): string[] {
  const marks: string[] = [];
  for (let count = 0; count <= ceiling; count += step) {
    const at = y(count);
    marks.push(
      `<line class="${count === 0 ? 'axis' : 'grid'}" x1="${PLOT.left}" x2="${WIDTH - PLOT.right}" y1="${at}" y2="${at}"/>`,
      `<text text-anchor="end" x="${PLOT.left - 10}" y="${at + 4}">${count}</text>`,
    );
  }
  return marks;
}

function timeAxis(
  startAt: number,
  endAt: number,
  x: (at: number) => number,
  bottom: number,
): string[] {
  const marks = timeTicks(startAt, endAt, 8).flatMap((at) => [
    `<line class="axis" x1="${x(at)}" x2="${x(at)}" y1="${bottom}" y2="${bottom + 5}"/>`,
    `<text text-anchor="middle" x="${x(at)}" y="${bottom + 20}">${tickLabel(at, endAt - startAt)}</text>`,
  ]);
  const from = readableInstant(startAt);
  return [
    ...marks,
    `<text text-anchor="end" x="${WIDTH - PLOT.right}" y="${bottom + 42}">UTC, from ${from}</text>`,
  ];
}

/** Steps, because a count belongs to its whole bucket. */
function line(
  counts: readonly number[],
  candidate: number,
  x: (place: number) => number,
  y: (count: number) => number,
): string {
  const steps = counts.map((count, i) => `V${y(count)}H${x(i + 1)}`).join('');
  return `<path class="line c${candidate % DASHES.length}" ${dashes(candidate)}d="M${x(0)} ${y(0)}${steps}V${y(0)}"/>`;
}

function dashes(candidate: number): string {
  const pattern = DASHES[candidate % DASHES.length]!;
  return pattern === '' ? '' : `stroke-dasharray="${pattern}" `;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(text: string): string {
  return printable(text, Infinity)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
