import { Injectable, type MessageEvent } from '@nestjs/common';
import { interval, map, merge, type Observable, share, startWith } from 'rxjs';
import { type DecisionEvent, RateLimiterService, TopOffenders } from '../lib/index.js';
import { LoginAlerts } from './login-alerts.js';

const HEARTBEAT_MS = 5000;

/** What the live page is told. Nobody listens to the limiter while no page is open. */
@Injectable()
export class LiveFeed {
  private readonly offenders = new TopOffenders(100);
  private readonly shared: Observable<MessageEvent>;

  constructor(limiter: RateLimiterService, alerts: LoginAlerts) {
    this.shared = merge(
      limiter.decisions$.pipe(map((event) => ({ type: 'decision', data: this.seen(event) }))),
      limiter.store$.pipe(map((event) => ({ type: 'store', data: event }))),
      alerts.alerts$.pipe(map((alert) => ({ type: 'alert', data: alert }))),
      interval(HEARTBEAT_MS).pipe(map(heartbeat)),
    ).pipe(share());
  }

  /** For one page. */
  events(): Observable<MessageEvent> {
    return this.shared.pipe(startWith(heartbeat()));
  }

  private seen(event: DecisionEvent): object {
    if (event.outcome === 'unavailable') return { outcome: event.outcome };
    const { outcome, decision } = event;
    if (outcome === 'denied') {
      for (const { subject, allowed } of decision.policies) {
        if (!allowed) this.offenders.record(subject);
      }
    }
    return { outcome, decision, offenders: this.offenders.top(5) };
  }
}

/** Tells a page the server's time, and that it is there. */
function heartbeat(): MessageEvent {
  return { type: 'heartbeat', data: { at: Date.now() } };
}
