import { Logger } from '@nestjs/common';
import type { Clock } from '../clock.js';
import { chargeOf, compilePolicy, type LimitPolicy } from '../limiting/policies.js';
import type { CounterStore, LimitStore } from '../stores/store.js';
import type { EventDeclaration } from './count-event.decorator.js';
import type { OutcomeCounter } from './counted-instances.js';
import type { EventDefinition, MethodOutcome } from './event-definition.js';
import type { ThresholdAlert } from './on-threshold.decorator.js';

/** A method that is told, and its class and name for the log. */
export interface Listener {
  readonly path: string;
  readonly call: (alert: ThresholdAlert) => unknown;
}

/** Of a policy of its own, so that no policy of the application shares its state. */
const COOLDOWN = 'nestjs-sliding-window.cooldown';

/** Counts the outcomes of methods in the background, and tells the listeners of thresholds. */
export class Alerts implements OutcomeCounter {
  private readonly logger = new Logger('Alerts');
  private readonly events = new Map<EventDeclaration, EventDefinition>();
  private readonly cooldowns = new Map<number, LimitPolicy>();
  private readonly listeners = new Map<string, Listener[]>();
  private readonly counting = new Set<Promise<void>>();
  /** Troubles that are in the log already. */
  private readonly told = new Set<string>();
  private closed = false;

  constructor(
    private readonly counters: CounterStore,
    private readonly limits: LimitStore,
    private readonly clock: Clock,
  ) {}

  add(declaration: EventDeclaration, event: EventDefinition): void {
    this.events.set(declaration, event);
    const { cooldownMs } = event;
    if (cooldownMs > 0) this.cooldowns.set(cooldownMs, cooldownOf(cooldownMs));
  }

  listen(name: string, listener: Listener): void {
    this.listeners.set(name, [...(this.listeners.get(name) ?? []), listener]);
  }

  ended(declaration: EventDeclaration, args: unknown[], outcome: MethodOutcome): void {
    const event = this.events.get(declaration);
    if (event === undefined || this.closed || !this.isEvent(event, outcome)) return;
    const counting = this.count(event, this.keyOf(event, args), this.clock.now())
      .catch((error: unknown) => this.trouble(`${event.path}: not counted`, error))
      .finally(() => this.counting.delete(counting));
    this.counting.add(counting);
  }

  /** When everything that has happened is counted, which the store's deadline bounds. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.all(this.counting);
  }

  private async count(event: EventDefinition, key: string, at: number): Promise<void> {
    const { name, window, windowMs, thresholds, cooldownMs } = event;
    const clears = cooldownMs === 0;
    const highest = thresholds[thresholds.length - 1]!;
    const { count, reached } = await this.counters.record(
      `${name}:${key}`,
      windowMs,
      undefined,
      highest,
      clears,
    );
    const raised = clears
      ? // Each count is given to one event alone, so each threshold is told once on the way up.
        thresholds.filter((threshold) => (threshold === highest ? reached : threshold === count))
      : await this.rested(
          event,
          key,
          thresholds.filter((threshold) => threshold <= count),
        );
    for (const threshold of raised) {
      this.tell(Object.freeze({ name, key, count, window, threshold, at }));
    }
  }

  /** The thresholds whose cooldown is over; it begins anew for them. */
  private async rested(
    { name, cooldownMs }: EventDefinition,
    key: string,
    thresholds: readonly number[],
  ): Promise<number[]> {
    const cooldown = this.cooldowns.get(cooldownMs)!;
    const decisions = await Promise.all(
      thresholds.map((threshold) =>
        this.limits.decide([chargeOf(cooldown, `${name}:${threshold}:${key}`, 1)]),
      ),
    );
    return thresholds.filter((_, i) => decisions[i]!.allowed);
  }

  private tell(alert: ThresholdAlert): void {
    for (const { path, call } of this.listeners.get(alert.name) ?? []) {
      // Neither what it throws nor what it rejects with reaches the others.
      new Promise((resolve) => resolve(call(alert))).catch((error: unknown) =>
        this.logger.error(`${path}: failed on "${alert.name}": ${textOf(error)}`, stackOf(error)),
      );
    }
  }

  private isEvent({ isEvent, path }: EventDefinition, outcome: MethodOutcome): boolean {
    try {
      return isEvent(outcome);
    } catch (error) {
      this.trouble(`${path} when: failed, so the call was not counted`, error);
      return false;
    }
  }

  private keyOf({ by, path }: EventDefinition, args: unknown[]): string {
    try {
      const key = by(...args);
      return typeof key === 'string' || typeof key === 'number' ? String(key) : '';
    } catch (error) {
      this.trouble(`${path} by: failed, so the event was counted under ''`, error);
      return '';
    }
  }

  /** Each once: what clients can cause does not fill the log. */
  private trouble(what: string, error: unknown): void {
    if (this.told.has(what)) return;
    this.told.add(what);
    this.logger.error(`${what}: ${textOf(error)}`, stackOf(error));
  }
}

/** At most one in any cooldown, over all processes; per process while the store is away. */
function cooldownOf(cooldownMs: number): LimitPolicy {
  const rules = { limit: 1, window: cooldownMs };
  const defaults = { onStoreError: 'local', shadow: false } as const;
  return compilePolicy({ name: COOLDOWN, rules }, defaults, 'cooldown');
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
