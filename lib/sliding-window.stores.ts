import { Subject } from 'rxjs';
import { type Clock, monotonicClock, wallClock } from './clock.js';
import { Deadline } from './resilience/deadline.js';
import { ResilientCounterStore } from './resilience/resilient-counter.store.js';
import { ResilientStore } from './resilience/resilient.store.js';
import type { StoreEvent } from './resilience/store-events.js';
import { StoreBreaker, type StoreState } from './resilience/store-breaker.js';
import { StoreGate } from './resilience/store-gate.js';
import type { ResolvedOptions } from './sliding-window.options.js';
import { DenialCacheStore } from './stores/denial-cache.store.js';
import { Keys } from './stores/keys.js';
import { LeaseStore } from './stores/lease.store.js';
import { BoundedMap } from './stores/memory/bounded-map.js';
import { MemoryCounterStore } from './stores/memory/memory-counter.store.js';
import { MemoryStore } from './stores/memory/memory.store.js';
import {
  close,
  connect,
  type Connection,
  doubtfulSettings,
  isCluster,
  untilReady,
} from './stores/redis/connection.js';
import { RedisCounterStore } from './stores/redis/redis-counter.store.js';
import { RedisStore } from './stores/redis/redis.store.js';
import { checkRedis, type SelfCheck, unreachable } from './stores/redis/self-check.js';
import { ScriptRunner } from './stores/redis/script-runner.js';
import { loadScripts } from './stores/redis/scripts.js';
import { SlotSplittingStore } from './stores/redis/slot-splitting.store.js';
import { StateSplittingStore } from './stores/redis/state-splitting.store.js';
import type { CounterStore, LimitStore } from './stores/store.js';

/** The options that stores are made of. */
export type StoreOptions = Pick<
  ResolvedOptions,
  | 'redis'
  | 'keyPrefix'
  | 'keySecret'
  | 'clock'
  | 'memory'
  | 'denyCache'
  | 'timeoutMs'
  | 'onStoreError'
  | 'replicas'
>;

const SWEEP_MS = 5000;
const READY_MS = 1000;

/** The stores of one module, nested once, and what has to be opened and closed with them. */
export class Stores {
  readonly limits: LimitStore;
  readonly counters: CounterStore;
  /** The clock that waits are measured by. */
  readonly clock: Clock;
  /** Redis alone. */
  readonly runner: ScriptRunner | undefined;
  readonly events = new Subject<StoreEvent>();
  private readonly breaker = new StoreBreaker();
  private lastCheck: SelfCheck | undefined;
  private readonly deadline: Deadline;
  /** For what no request waits for. */
  private readonly patience = new Deadline(READY_MS);
  private readonly entries: BoundedMap<unknown>;
  private readonly connection: Connection | undefined;
  private readonly leases: LeaseStore | undefined;
  private sweeper: NodeJS.Timeout | undefined;

  constructor(private readonly options: StoreOptions) {
    const { redis, keyPrefix, keySecret, clock, memory, denyCache, timeoutMs } = options;
    this.clock = typeof clock === 'object' ? clock : monotonicClock;
    this.deadline = new Deadline(timeoutMs);
    this.entries = new BoundedMap(memory.maxKeys);
    const counters = new MemoryCounterStore(this.entries, this.clock);
    if (redis === undefined) {
      this.limits = new MemoryStore(this.entries, this.clock);
      this.counters = counters;
      return;
    }
    const sent = clock === 'redis' ? undefined : clock === 'app' ? wallClock : clock;
    const scripts = loadScripts();
    const keys = new Keys(keyPrefix, keySecret);
    const gate = new StoreGate(this.deadline, this.breaker, ({ reason, ofOneKey }) =>
      this.events.next({ type: 'store-error', reason, ofOneKey }),
    );
    this.breaker.onChange((state) =>
      this.events.next(
        state.up ? { type: 'store-up' } : { type: 'store-down', reason: state.reason },
      ),
    );
    this.connection = connect(redis, timeoutMs);
    this.runner = new ScriptRunner(this.connection.client);
    const store = new RedisStore(this.runner, scripts, keys, sent);
    const limits = new ResilientStore(
      isCluster(this.connection.client)
        ? new SlotSplittingStore(new StateSplittingStore(store))
        : store,
      new MemoryStore(this.entries, this.clock, 'fallback'),
      gate,
      this.clock,
      options.replicas,
    );
    const elapsed = sent ?? monotonicClock;
    this.leases = new LeaseStore(
      denyCache === false ? limits : new DenialCacheStore(limits, denyCache, elapsed),
      elapsed,
    );
    this.limits = this.leases;
    this.counters = new ResilientCounterStore(
      new RedisCounterStore(this.runner, scripts, keys, sent),
      counters,
      gate,
      options.onStoreError,
    );
  }

  /** One line for the log. */
  get description(): string {
    return this.connection === undefined
      ? `in-process store, at most ${this.options.memory.maxKeys} keys; limits hold per process`
      : `Redis, keys ${this.options.keyPrefix}:*`;
  }

  /** Whether the store is in use, and why not. The in-process one always is. */
  get state(): StoreState {
    return this.breaker.state;
  }

  /** What was found when Redis was last looked at. */
  get selfCheck(): SelfCheck | undefined {
    return this.lastCheck;
  }

  /** Settings of a client given to us that break a promise. */
  get doubtfulSettings(): readonly string[] {
    return this.connection === undefined || this.connection.owned
      ? []
      : doubtfulSettings(this.connection.client);
  }

  /** Resolves when Redis has been looked at, or when it is clear that it is not there for now. */
  async open(): Promise<void> {
    this.sweeper = setInterval(() => this.entries.sweep(this.clock.now()), SWEEP_MS).unref();
    if (this.connection === undefined) return;
    const { client } = this.connection;
    await untilReady(client, READY_MS);
    await this.check();
    client.on('ready', this.onReady);
  }

  /** Looks at Redis now, for a second at most; undefined: the in-process store. */
  async check(): Promise<SelfCheck | undefined> {
    if (this.connection === undefined) return undefined;
    const check = await this.patience.race(checkRedis(this.connection.client), unreachable);
    this.lastCheck = check;
    this.events.next({ type: 'self-check', check });
    return check;
  }

  /** Empties the in-process store. */
  forget(): void {
    this.entries.clear();
  }

  /** When what is under way has been answered, which the deadline bounds. */
  async close(): Promise<void> {
    clearInterval(this.sweeper);
    await this.leases?.close();
    await this.deadline.idle();
    this.entries.clear();
    if (this.connection === undefined) return;
    this.connection.client.off('ready', this.onReady);
    close(this.connection);
  }

  private readonly onReady = (): void => void this.check();
}
