import type { Candidate } from './candidate.js';
import type { LineParser } from './log-entry.js';
import { linesOf, LONGEST_LINE } from './log-lines.js';
import { textOf } from './log-source.js';
import { Replay } from './replay.js';
import type { BadLine, Report } from './report.js';
import { SimulateError } from './simulate-error.js';

export interface SimulateOptions {
  readonly candidates: readonly Candidate[];
  /** Paths, or `-` for standard input; read one after the other, as one log. */
  readonly files: readonly string[];
  readonly parse: LineParser;
  /** Only requests in [fromAt, toAt), milliseconds since the epoch. */
  readonly fromAt: number;
  readonly toAt: number;
  /** How many subjects a candidate's report names. */
  readonly top: number;
  /** Told of bytes as they are read, and of the lines so far. */
  readonly onProgress: (bytes: number, lines: number) => void;
}

const BAD_LINE_SAMPLES = 5;
const LONGEST_SAMPLE = 100;

/** Replays logs through every candidate. Throws SimulateError. */
export async function simulate(options: SimulateOptions): Promise<Report> {
  const run = new Run(options);
  for (const file of options.files) await run.read(file);
  return run.report();
}

class Run {
  private readonly replay: Replay;
  private readonly samples: BadLine[] = [];
  private lines = 0;
  private badLines = 0;
  private outsideRange = 0;

  constructor(private readonly options: SimulateOptions) {
    this.replay = new Replay(options.candidates);
  }

  async read(file: string): Promise<void> {
    const { onProgress } = this.options;
    let number = 0;
    for await (const lines of linesOf(textOf(file, (bytes) => onProgress(bytes, this.lines)))) {
      for (const line of lines) this.take(line, ++number, file);
    }
  }

  report(): Report {
    const { replay } = this;
    this.checkThatOneWasOfUse();
    return {
      log: {
        lines: this.lines,
        requests: replay.requests,
        outsideRange: this.outsideRange,
        badLines: this.badLines,
        badLineSamples: this.samples,
        outOfOrder: replay.outOfOrder,
        largestStepBackMs: replay.largestStepBackMs,
        subjects: replay.subjects,
        firstAt: replay.firstAt,
        lastAt: replay.lastAt,
      },
      candidates: replay.candidateReports(this.options.top),
      timeline: replay.timelineReport(),
    };
  }

  /** A report over nothing would look like limits that deny nobody. */
  private checkThatOneWasOfUse(): void {
    const [first] = this.samples;
    if (first === undefined || this.badLines < this.lines) return;
    throw SimulateError.nothingOfUse(first.file, this.lines, first.line, first.problem);
  }

  private take(written: string, number: number, file: string): void {
    let line = written.endsWith('\r') ? written.slice(0, -1) : written;
    if (number === 1 && line.startsWith('\uFEFF')) line = line.slice(1);
    if (line.trim() === '') return;
    this.lines++;
    const entry =
      line.length > LONGEST_LINE
        ? `longer than ${LONGEST_LINE} characters`
        : this.options.parse(line);
    if (typeof entry === 'string') {
      this.badLines++;
      if (this.samples.length < BAD_LINE_SAMPLES) {
        const text = line.slice(0, LONGEST_SAMPLE);
        this.samples.push({ file, line: number, problem: entry, text });
      }
      return;
    }
    const { at, subject } = entry;
    if (at < this.options.fromAt || at >= this.options.toAt) this.outsideRange++;
    else this.replay.add(subject, at);
  }
}
