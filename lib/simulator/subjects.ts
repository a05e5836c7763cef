import type { SubjectReport } from './report.js';

/** What one candidate did to one subject. */
interface Denials {
  denied: number;
  readonly firstDeniedAt: number;
  longestRetryAfterMs: number;
}

export class Subject {
  requests = 0;
  /** By the candidate's place; undefined: never denied. */
  private readonly denials: (Denials | undefined)[] = [];

  constructor(readonly name: string) {}

  /** True for the first denial by this candidate. */
  countDenial(candidate: number, at: number, retryAfterMs: number): boolean {
    const known = this.denials[candidate];
    if (known === undefined) {
      this.denials[candidate] = { denied: 1, firstDeniedAt: at, longestRetryAfterMs: retryAfterMs };
      return true;
    }
    known.denied++;
    known.longestRetryAfterMs = Math.max(known.longestRetryAfterMs, retryAfterMs);
    return false;
  }

  reportFor(candidate: number): SubjectReport | undefined {
    const denials = this.denials[candidate];
    if (denials === undefined) return undefined;
    const { denied, firstDeniedAt, longestRetryAfterMs } = denials;
    return {
      subject: this.name,
      requests: this.requests,
      denied,
      firstDeniedAt,
      longestRetryAfterMs: longestRetryAfterMs === Infinity ? null : longestRetryAfterMs,
    };
  }
}

/** Everybody in the log: what grows with the number of keys, and the only thing that does. */
export class Subjects {
  private readonly byName = new Map<string, Subject>();

  get size(): number {
    return this.byName.size;
  }

  get(name: string): Subject {
    const known = this.byName.get(name);
    if (known !== undefined) return known;
    const subject = new Subject(ownCopy(name));
    this.byName.set(subject.name, subject);
    return subject;
  }

  /** Those denied most by a candidate; of equals who was denied first. */
  top(candidate: number, count: number): SubjectReport[] {
    const denied: SubjectReport[] = [];
    for (const subject of this.byName.values()) {
      const report = subject.reportFor(candidate);
      if (report !== undefined) denied.push(report);
    }
    return denied
      .sort((a, b) => b.denied - a.denied || a.firstDeniedAt - b.firstDeniedAt)
      .slice(0, count);
  }
}

/** A text cut from a line keeps alive the whole chunk of the file that the line was cut from. */
function ownCopy(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string;
}
