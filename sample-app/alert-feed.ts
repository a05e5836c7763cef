import { Injectable } from '@nestjs/common';
import { type Observable, Subject } from 'rxjs';

/** A threshold that was reached. */
export interface Alert {
  readonly name: string;
  readonly key: string;
  readonly count: number;
  readonly at: number;
}

/** Alerts on their way to whoever shows them. */
@Injectable()
export class AlertFeed {
  private readonly subject = new Subject<Alert>();
  readonly alerts$: Observable<Alert> = this.subject.asObservable();

  publish(alert: Alert): void {
    this.subject.next(alert);
  }
}
