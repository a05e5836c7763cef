import type { Observable } from 'rxjs';
import { Subject } from 'rxjs';
import { stopwatch } from '../clock.js';
import type { Decision } from '../decision.js';

/** A decision as it was made, or that none could be made; what `decisions$` emits. */
export type DecisionEvent =
  | {
      /** `'would-deny'`: a shadow policy would have denied what was allowed. */
      readonly outcome: 'allowed' | 'denied' | 'would-deny';
      readonly decision: Decision;
      /** Milliseconds, fractions included. */
      readonly tookMs: number;
    }
  | { readonly outcome: 'unavailable'; readonly error: unknown; readonly tookMs: number };

/** Decisions for whoever listens; nothing is measured or made while nobody does. */
export class DecisionEvents {
  private readonly subject = new Subject<DecisionEvent>();
  readonly decisions$: Observable<DecisionEvent> = this.subject.asObservable();

  get observed(): boolean {
    return this.subject.observed;
  }

  /** The same decision, told. A listener that throws is its own affair: rxjs reports it. */
  async tell(deciding: Promise<Decision>): Promise<Decision> {
    const elapsedMs = stopwatch();
    try {
      const decision = await deciding;
      this.subject.next({ outcome: outcomeOf(decision), decision, tookMs: elapsedMs() });
      return decision;
    } catch (error) {
      this.subject.next({ outcome: 'unavailable', error, tookMs: elapsedMs() });
      throw error;
    }
  }
}

function outcomeOf({ allowed, shadow }: Decision): 'allowed' | 'denied' | 'would-deny' {
  if (!allowed) return 'denied';
  return shadow ? 'would-deny' : 'allowed';
}
