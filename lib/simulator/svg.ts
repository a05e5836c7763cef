import { countStep, tickLabel, timeTicks } from './axes.js';
import { printable, readableInstant, readableMs } from './readable.js';
import type { Report } from './report.js';

const WIDTH = 960;
const LEFT = 72;
const RIGHT = WIDTH - 32;
const FIRST_PANEL = 56;
const PANEL = { title: 22, plot: 110, gap: 26 };
const PANEL_HEIGHT = PANEL.title + PANEL.plot + PANEL.gap;

const STYLE = `
  svg { color: #1f2328; background: #ffffff; font: 13px system-ui, sans-serif; }
  text { fill: currentColor; }
  .title { font-size: 17px; font-weight: 600; }
  .axis { stroke: currentColor; }
  .grid { stroke: currentColor; opacity: 0.15; }
  .denied { fill: #bc4c00; }
  @media (prefers-color-scheme: dark) {
    svg { color: #e6edf3; background: #0d1117; }
    .denied { fill: #f0883e; }
  }
`;

/** Where counts and instants stand; one scale for all panels, so that they can be compared. */
interface Scale {
  readonly x: (at: number) => number;
  /** Above the foot of a panel. */
  readonly height: (count: number) => number;
  readonly countTicks: readonly number[];
  readonly timeTicks: readonly number[];
  readonly span: number;
}

/** What each candidate denied over time, one below the other: one file, no script, light and dark. */
export function svgOf(report: Report): string {
  const { timeline, candidates } = report;
  const scale = scaleOf(timeline);
  const bottom = FIRST_PANEL + candidates.length * PANEL_HEIGHT - PANEL.gap;
  const title = `Requests denied per ${readableMs(timeline.bucketMs)}`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="title desc" viewBox="0 0 ${WIDTH} ${bottom + 56}">`,
    `<title id="title">${title}</title>`,
    `<desc id="desc">${escape(description(report))}</desc>`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="${LEFT}" y="30">${title}</text>`,
    ...candidates.flatMap(({ rule, denied, deniedPercent }, i) => {
      const top = FIRST_PANEL + i * PANEL_HEIGHT;
      const foot = top + PANEL.title + PANEL.plot;
      const counts = timeline.denied[i]!;
      const at = (place: number) => scale.x(timeline.startAt + place * timeline.bucketMs);
      return [
        `<text x="${LEFT}" y="${top + 8}">${escape(printable(rule, 90))}: ${denied} denied (${deniedPercent.toFixed(2)} %)</text>`,
        ...grid(scale, foot),
        `<path class="denied" d="${area(counts, at, (count) => round(foot - scale.height(count)))}"/>`,
      ];
    }),
    ...scale.timeTicks.map(
      (at) =>
        `<text text-anchor="middle" x="${scale.x(at)}" y="${bottom + 20}">${tickLabel(at, scale.span)}</text>`,
    ),
    `<text text-anchor="end" x="${RIGHT}" y="${bottom + 44}">UTC, from ${readableInstant(timeline.startAt)}</text>`,
    '</svg>',
    '',
  ].join('\n');
}

function scaleOf({ startAt, bucketMs, requests, denied }: Report['timeline']): Scale {
  const span = Math.max(1, requests.length) * bucketMs;
  const most = denied.reduce((peak, counts) => counts.reduce((a, b) => Math.max(a, b), peak), 1);
  const step = countStep(most, 3);
  const steps = Math.ceil(most / step);
  return {
    x: (at) => round(LEFT + ((at - startAt) / span) * (RIGHT - LEFT)),
    height: (count) => (count / (steps * step)) * PANEL.plot,
    countTicks: Array.from({ length: steps + 1 }, (_, i) => i * step),
    timeTicks: timeTicks(startAt, startAt + span, 8),
    span,
  };
}

function grid(scale: Scale, foot: number): string[] {
  const rows = scale.countTicks.flatMap((count) => {
    const y = round(foot - scale.height(count));
    return [
      `<line class="${count === 0 ? 'axis' : 'grid'}" x1="${LEFT}" x2="${RIGHT}" y1="${y}" y2="${y}"/>`,
      `<text text-anchor="end" x="${LEFT - 10}" y="${round(y + 4)}">${count}</text>`,
    ];
  });
  const columns = scale.timeTicks.map((at) => {
    const x = scale.x(at);
    return `<line class="grid" x1="${x}" x2="${x}" y1="${foot - PANEL.plot}" y2="${foot + 5}"/>`;
  });
  return [...rows, ...columns];
}

/** Steps, because a count belongs to its whole bucket. */
function area(
  counts: readonly number[],
  x: (place: number) => number,
  y: (count: number) => number,
): string {
  const steps = counts.map((count, i) => `V${y(count)}H${x(i + 1)}`).join('');
  return `M${x(0)} ${y(0)}${steps}V${y(0)}Z`;
}

function description({ log, candidates }: Report): string {
  if (log.firstAt === null || log.lastAt === null) return 'No requests.';
  const sums = candidates.map(({ rule, denied }) => `${rule}: ${denied} denied`).join('; ');
  return `${log.requests} requests from ${readableInstant(log.firstAt)} to ${readableInstant(log.lastAt)} UTC. ${sums}.`;
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
