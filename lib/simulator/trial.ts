import type { Clock } from '../clock.js';
import { BoundedMap } from '../stores/memory/bounded-map.js';
import { MemoryStore } from '../stores/memory/memory.store.js';
import type { Charge } from '../stores/store.js';
import type { Candidate } from './candidate.js';

const MINUTE_MS = 60_000;

/** One candidate on its way through a log: a store of its own, and the sums of what it decided. */
export class Trial {
  requests = 0;
  denied = 0;
  deniedSubjects = 0;
  firstDeniedAt: number | null = null;
  lastDeniedAt: number | null = null;
  worstMinute: { startAt: number; denied: number } | null = null;
  private minute = { startAt: -1, denied: 0 };
  /** Without a bound: a key that was given up would be admitted anew. What has expired is swept. */
  private readonly entries = new BoundedMap<unknown>(Infinity);
  private readonly store: MemoryStore;

  constructor(
    readonly candidate: Candidate,
    clock: Clock,
  ) {
    this.store = new MemoryStore(this.entries, clock);
  }

  /** The wait that a denial names, in ms, Infinity if none helps; undefined: admitted. */
  decide(subject: string, at: number): number | undefined {
    const charge: Charge = {
      plan: this.candidate.plan,
      type: 'custom',
      subject,
      cost: 1,
      blockMs: 0,
      shadow: false,
      onStoreError: 'local',
    };
    const decision = this.store.decideNow([charge]);
    this.requests++;
    if (decision.allowed) return undefined;
    this.countDenial(at);
    return decision.retryAfterMs ?? Infinity;
  }

  sweep(now: number): void {
    this.entries.sweep(now);
  }

  private countDenial(at: number): void {
    this.denied++;
    this.firstDeniedAt ??= at;
    this.lastDeniedAt = at;
    const startAt = at - (at % MINUTE_MS);
    if (this.minute.startAt !== startAt) this.minute = { startAt, denied: 0 };
    this.minute.denied++;
    if (this.worstMinute === null || this.minute.denied > this.worstMinute.denied) {
      this.worstMinute = this.minute;
    }
  }
}
