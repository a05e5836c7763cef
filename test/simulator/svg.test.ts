import { describe, expect, it } from '@jest/globals';
import { countStep, tickLabel, timeTicks } from '../../lib/simulator/axes.js';
import { parseCandidate } from '../../lib/simulator/candidate.js';
import { Replay } from '../../lib/simulator/replay.js';
import type { Report } from '../../lib/simulator/report.js';
import { svgOf } from '../../lib/simulator/svg.js';
import { elementsOf } from './xml.js';

const START = Date.UTC(2026, 0, 1, 10);
const DAY = 86_400_000;

/** A report of requests of one subject at these instants. */
function reportOf(rules: readonly string[], instants: readonly number[]): Report {
  const replay = new Replay(rules.map(parseCandidate));
  for (const at of instants) replay.add('ann', at);
  return {
    log: {
      lines: instants.length,
      requests: instants.length,
      outsideRange: 0,
      badLines: 0,
      badLineSamples: [],
      outOfOrder: 0,
      largestStepBackMs: 0,
      subjects: replay.subjects,
      firstAt: replay.firstAt,
      lastAt: replay.lastAt,
    },
    candidates: replay.candidateReports(5),
    timeline: replay.timelineReport(),
  };
}

describe('the plot', () => {
  it('is well-formed, with a title, a description and one area per candidate', () => {
    const instants = Array.from({ length: 500 }, (_, i) => START + i * 1000);
    const svg = svgOf(reportOf(['1/10s', '5/10s', 'token-bucket:20+5/1s'], instants));
    const elements = elementsOf(svg);
    expect(elements.slice(0, 4)).toEqual(['svg', 'title', 'desc', 'style']);
    expect(elements.filter((name) => name === 'path')).toHaveLength(3);
    expect(svg).toContain('<title id="title">Requests denied per 5 s</title>');
    expect(svg).toContain('>1/10s: 450 denied (90.00 %)</text>');
    expect(svg).toContain('500 requests from 2026-01-01 10:00:00 to 2026-01-01 10:08:19 UTC.');
    expect(svg).toContain('prefers-color-scheme: dark');
  });

  it('draws a bucket as high as it counts, on a scale that all panels share', () => {
    // One bucket of a second each: 0, 3 and 1 denials by the first, 0, 1 and 0 by the second.
    const instants = [0, 1000, 1000, 1000, 1000, 2000].map((ms) => START + ms);
    const report = reportOf(['1/1s', '3/1s'], instants);
    expect(report.timeline.denied).toEqual([
      [0, 3, 0],
      [0, 1, 0],
    ]);
    const [first, second] = [...svgOf(report).matchAll(/ d="([^"]+)"/g)].map(([, path]) => path);
    // 856 px for 3 s; 110 px for 3 denials.
    expect(first).toBe('M72 188V188H357.3V78H642.7V188H928V188Z');
    expect(second).toBe('M72 346V346H357.3V309.3H642.7V346H928V346Z');
  });

  it.each([
    ['nothing', []],
    ['one request', [START]],
    ['no denial', [START, START + DAY]],
  ])('of %s is well-formed and has no number that is none', (_, instants) => {
    const svg = svgOf(reportOf(['1/1s'], instants));
    expect(elementsOf(svg)).toContain('path');
    expect(svg).not.toMatch(/NaN|Infinity|undefined|null/);
  });

  it('is well-formed whatever a rule is called', () => {
    const report = reportOf(['1/1s'], [START]);
    const rule = `</text><script>"&'\u0000\u001b]]>`;
    const svg = svgOf({ ...report, candidates: [{ ...report.candidates[0]!, rule }] });
    expect(elementsOf(svg)).not.toContain('script');
    expect(svg).toContain('&lt;/text&gt;&lt;script&gt;&quot;&amp;');
  });
});

describe('the axes', () => {
  it.each([
    [1, 1],
    [3, 1],
    [4, 2],
    [15, 5],
    [16, 10],
    [299, 100],
    [301, 200],
    [1_000_000, 500_000],
  ])('count to %d in steps of %d', (most, step) => {
    expect(countStep(most, 3)).toBe(step);
  });

  it.each([
    ['10 s', 10_000, 8, '10:00:00'],
    ['an hour', 3_600_000, 8, '10:00'],
    ['two days', 2 * DAY, 8, '01-01 12:00'],
    ['a month', 30 * DAY, 8, '2026-01-08'],
    ['a century', 36_500 * DAY, 8, '2026-01-08'],
  ])('have few round times in %s', (_, span, most, first) => {
    const ticks = timeTicks(START, START + span, most);
    expect(ticks.length).toBeGreaterThanOrEqual(2);
    expect(ticks.length).toBeLessThanOrEqual(most + 1);
    expect(ticks.every((at) => at >= START && at <= START + span)).toBe(true);
    if (span <= 30 * DAY) expect(tickLabel(ticks[0]!, span)).toBe(first);
  });
});
