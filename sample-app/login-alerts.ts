import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import { Subject } from 'rxjs';
import { OnThreshold, type ThresholdAlert } from '../lib/index.js';

/** Is told when an address fails to log in too often. */
@Injectable()
export class LoginAlerts implements OnApplicationShutdown {
  private readonly logger = new Logger('LoginAlerts');
  private readonly alerts = new Subject<ThresholdAlert>();

  /** For whoever wants to show them. */
  readonly alerts$ = this.alerts.asObservable();

  @OnThreshold('login-failed')
  warn(alert: ThresholdAlert): void {
    this.logger.warn(`${alert.count} failed logins from ${alert.key} within ${alert.window}`);
    this.alerts.next(alert);
  }

  onApplicationShutdown(): void {
    this.alerts.complete();
  }
}
