import type { ResolvedRule } from '../algorithms/algorithm.js';

/**
 * What a replay found. Instants (`…At`) are milliseconds since the epoch, null where there is none.
 * The same as JSON; docs/guides/simulator.md shows one.
 */
export interface Report {
  readonly log: LogReport;
  /** One per candidate, in the order in which they were given. */
  readonly candidates: readonly CandidateReport[];
  readonly timeline: TimelineReport;
}

/** What was read. `lines` is the sum of `requests`, `outsideRange` and `badLines`. */
export interface LogReport {
  readonly lines: number;
  readonly requests: number;
  /** Before `--from`, or at or after `--to`. */
  readonly outsideRange: number;
  readonly badLines: number;
  /** The first few. */
  readonly badLineSamples: readonly BadLine[];
  /** Requests dated before one that stands above them; decided at the latest time seen. */
  readonly outOfOrder: number;
  readonly largestStepBackMs: number;
  readonly subjects: number;
  readonly firstAt: number | null;
  readonly lastAt: number | null;
}

export interface BadLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly problem: string;
  /** The line, cut. */
  readonly text: string;
}

export interface CandidateReport {
  /** As it was written. */
  readonly rule: string;
  /** As it was understood. */
  readonly rules: readonly ResolvedRule[];
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
  readonly deniedPercent: number;
  /** How many subjects were denied at least once. */
  readonly deniedSubjects: number;
  readonly firstDeniedAt: number | null;
  readonly lastDeniedAt: number | null;
  /** The minute of the clock with the most denials, the first of several. */
  readonly worstMinute: { readonly startAt: number; readonly denied: number } | null;
  /** Those denied most. */
  readonly topSubjects: readonly SubjectReport[];
}

export interface SubjectReport {
  readonly subject: string;
  readonly requests: number;
  readonly denied: number;
  readonly firstDeniedAt: number;
  /** The longest wait that a denial named; null: none helps, the limit is 0. */
  readonly longestRetryAfterMs: number | null;
}

/** Counts per bucket of time; bucket i is [startAt + i × bucketMs, startAt + (i + 1) × bucketMs). */
export interface TimelineReport {
  readonly startAt: number;
  readonly bucketMs: number;
  readonly requests: readonly number[];
  /** Per candidate. */
  readonly denied: readonly (readonly number[])[];
}
