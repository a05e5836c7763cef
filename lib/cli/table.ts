import Table from 'cli-table3';
import { printable, readableInstant, readableMs } from '../simulator/readable.js';
import type { CandidateReport, LogReport, Report } from '../simulator/report.js';

const LONGEST_SUBJECT = 60;

/** A report for a terminal; times are UTC. */
export function tableOf(report: Report): string {
  return [
    ...summaryOf(report.log),
    '',
    comparison(report.candidates),
    ...report.candidates.flatMap(topSubjects),
    ...badLines(report.log),
    '',
  ].join('\n');
}

function summaryOf(log: LogReport): string[] {
  const period =
    log.firstAt === null || log.lastAt === null
      ? ''
      : `, ${readableInstant(log.firstAt)} to ${readableInstant(log.lastAt)} UTC`;
  const lines = [`${some(log.requests, 'request')} of ${some(log.subjects, 'subject')}${period}`];
  if (log.outsideRange > 0) lines.push(`${some(log.outsideRange, 'line')} outside --from and --to`);
  if (log.outOfOrder > 0) {
    lines.push(
      `${some(log.outOfOrder, 'request')} out of order, by at most ${readableMs(log.largestStepBackMs)}; decided at the latest time seen`,
    );
  }
  return lines;
}

function comparison(candidates: readonly CandidateReport[]): string {
  const instant = (at: number | null) => (at === null ? '–' : readableInstant(at));
  const rows: [string, (candidate: CandidateReport) => string][] = [
    ['requests', ({ requests }) => String(requests)],
    ['admitted', ({ admitted }) => String(admitted)],
    ['denied', ({ denied }) => String(denied)],
    ['denied, %', ({ deniedPercent }) => deniedPercent.toFixed(2)],
    ['subjects ever denied', ({ deniedSubjects }) => String(deniedSubjects)],
    ['first denial', ({ firstDeniedAt }) => instant(firstDeniedAt)],
    ['last denial', ({ lastDeniedAt }) => instant(lastDeniedAt)],
    ['worst minute', ({ worstMinute }) => instant(worstMinute?.startAt ?? null)],
    ['denied in it', ({ worstMinute }) => String(worstMinute?.denied ?? '–')],
  ];
  return draw(
    ['', ...candidates.map(({ rule }) => rule)],
    rows.map(([name, value]) => [name, ...candidates.map(value)]),
  );
}

function topSubjects({ rule, topSubjects }: CandidateReport): string[] {
  if (topSubjects.length === 0) return [];
  const head = ['subject', 'requests', 'denied', 'first denial', 'longest wait'];
  const rows = topSubjects.map((top) => [
    printable(top.subject, LONGEST_SUBJECT),
    String(top.requests),
    String(top.denied),
    readableInstant(top.firstDeniedAt),
    top.longestRetryAfterMs === null ? 'for ever' : readableMs(top.longestRetryAfterMs),
  ]);
  return ['', `Most denied by ${rule}`, draw(head, rows)];
}

function badLines({ badLines, badLineSamples }: LogReport): string[] {
  if (badLines === 0) return [];
  const shown = badLineSamples.map(
    ({ file, line, problem, text }) =>
      `  ${printable(file, 200)}:${line}: ${problem}: ${printable(text, 100)}`,
  );
  const more = badLines > shown.length ? [`  and ${badLines - shown.length} more`] : [];
  return ['', `${some(badLines, 'bad line')}, not counted as requests`, ...shown, ...more];
}

function some(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The first column is read, the others are compared: they stand on the right. No colours. */
function draw(head: readonly string[], rows: readonly string[][]): string {
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, i) => (i === 0 ? 'left' : 'right')),
    style: { head: [], border: [], compact: true },
  });
  table.push(...rows);
  return table.toString();
}
