import { type Clock, monotonicClock } from '../clock.js';
import type { Candidate } from './candidate.js';
import type { CandidateReport, TimelineReport } from './report.js';
import { Subjects } from './subjects.js';
import { Timeline } from './timeline.js';
import { Trial } from './trial.js';

/** How much log time passes between two sweeps: what has expired stays no longer. */
const SWEEP_MS = 1000;

/** Requests of a log, decided one after the other by each candidate on its own, in the log's time. */
export class Replay {
  requests = 0;
  outOfOrder = 0;
  largestStepBackMs = 0;
  firstAt: number | null = null;
  private now = 0;
  private sweptAt = 0;
  private readonly subjectsSeen = new Subjects();
  private readonly trials: readonly Trial[];
  private readonly timeline: Timeline;

  constructor(candidates: readonly Candidate[]) {
    const clock: Clock = {
      now: () => this.now,
      sleep: (ms, signal) => monotonicClock.sleep(ms, signal),
    };
    this.trials = candidates.map((candidate) => new Trial(candidate, clock));
    // The first series holds the requests, then one per candidate its denials.
    this.timeline = new Timeline(candidates.length + 1);
  }

  get subjects(): number {
    return this.subjectsSeen.size;
  }

  /** The latest time seen: the replay's clock, which never steps back. */
  get lastAt(): number | null {
    return this.requests === 0 ? null : this.now;
  }

  add(name: string, loggedAt: number): void {
    const at = this.advanceTo(loggedAt);
    const subject = this.subjectsSeen.get(name);
    const place = this.timeline.reach(at);
    const { series } = this.timeline;
    this.requests++;
    subject.requests++;
    series[0]![place]!++;
    for (let i = 0; i < this.trials.length; i++) {
      const trial = this.trials[i]!;
      const retryAfterMs = trial.decide(subject.name, at);
      if (retryAfterMs === undefined) continue;
      series[i + 1]![place]!++;
      if (subject.countDenial(i, at, retryAfterMs)) trial.deniedSubjects++;
    }
  }

  candidateReports(top: number): CandidateReport[] {
    return this.trials.map((trial, i) => ({
      rule: trial.candidate.text,
      rules: trial.candidate.plan.rules,
      requests: trial.requests,
      admitted: trial.requests - trial.denied,
      denied: trial.denied,
      deniedPercent: trial.requests === 0 ? 0 : (100 * trial.denied) / trial.requests,
      deniedSubjects: trial.deniedSubjects,
      firstDeniedAt: trial.firstDeniedAt,
      lastDeniedAt: trial.lastDeniedAt,
      worstMinute: trial.worstMinute,
      topSubjects: this.subjectsSeen.top(i, top),
    }));
  }

  timelineReport(): TimelineReport {
    const { startAt, bucketMs, series } = this.timeline;
    return { startAt, bucketMs, requests: series[0]!, denied: series.slice(1) };
  }

  private advanceTo(loggedAt: number): number {
    if (this.firstAt === null) {
      this.firstAt = this.sweptAt = loggedAt;
    } else if (loggedAt < this.now) {
      this.outOfOrder++;
      this.largestStepBackMs = Math.max(this.largestStepBackMs, this.now - loggedAt);
      return this.now;
    }
    this.now = loggedAt;
    if (this.now - this.sweptAt >= SWEEP_MS) {
      this.sweptAt = this.now;
      for (const trial of this.trials) trial.sweep(this.now);
    }
    return this.now;
  }
}
