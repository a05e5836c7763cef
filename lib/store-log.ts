import { Logger } from '@nestjs/common';
import type { StoreEvent } from './resilience/store-events.js';
import type { Stores } from './sliding-window.stores.js';

/** Tells the log what happens to the store: once per change, never once per request. */
export class StoreLog {
  private readonly logger = new Logger('SlidingWindow');
  private readonly told = new Set<string>();

  constructor(private readonly stores: Stores) {
    stores.events.subscribe((event) => this.tell(event));
  }

  opened(): void {
    this.logger.log(this.stores.description);
    for (const doubt of this.stores.doubtfulSettings) this.once(`the Redis client's ${doubt}`);
  }

  private tell(event: StoreEvent): void {
    switch (event.type) {
      case 'store-down':
        this.logger.error(`Redis is out of use (${event.reason}): onStoreError decides`);
        break;
      case 'store-up':
        this.logger.log('Redis is in use again');
        break;
      case 'store-error':
        if (event.ofOneKey) this.once(`a key in Redis holds what is not ours (${event.reason})`);
        break;
      case 'self-check':
        for (const { code, message } of event.check.problems) {
          this.once(`Redis: ${message} (${code})`);
        }
    }
  }

  private once(text: string): void {
    if (this.told.has(text) || this.told.size > 1000) return;
    this.told.add(text);
    this.logger.warn(text);
  }
}
