import { type Clock, monotonicClock, wallClock } from '../clock.js';
import { BoundedMap } from './memory/bounded-map.js';
import { MemoryCounterStore } from './memory/memory-counter.store.js';
import { MemoryStore } from './memory/memory.store.js';
import {
  close,
  connect,
  type Connection,
  isCluster,
  type RedisOption,
  untilReady,
} from './redis/connection.js';
import { RedisCounterStore } from './redis/redis-counter.store.js';
import { RedisStore } from './redis/redis.store.js';
import { SlotSplittingStore } from './redis/slot-splitting.store.js';
import { ScriptRunner } from './redis/script-runner.js';
import { loadScripts } from './redis/scripts.js';
import type { CounterStore, LimitStore } from './store.js';

export interface StoreOptions {
  readonly redis: RedisOption | undefined;
  readonly keyPrefix: string;
  readonly clock: 'redis' | 'app' | Clock;
  readonly memory: { readonly maxKeys: number };
}

const SWEEP_MS = 5000;
const READY_MS = 1000;

/** The stores of one module, and what has to be opened and closed with it. */
export class Stores {
  readonly limits: LimitStore;
  readonly counters: CounterStore;
  /** The clock that waits are measured by. */
  readonly clock: Clock;
  readonly runner: ScriptRunner | undefined;
  private readonly entries: BoundedMap<unknown>;
  private readonly connection: Connection | undefined;
  private sweeper: NodeJS.Timeout | undefined;

  constructor(private readonly options: StoreOptions) {
    const { redis, keyPrefix, clock, memory } = options;
    this.clock = typeof clock === 'object' ? clock : monotonicClock;
    this.entries = new BoundedMap(memory.maxKeys);
    if (redis === undefined) {
      this.limits = new MemoryStore(this.entries, this.clock);
      this.counters = new MemoryCounterStore(this.entries, this.clock);
      return;
    }
    const sent = clock === 'redis' ? undefined : clock === 'app' ? wallClock : clock;
    const scripts = loadScripts();
    this.connection = connect(redis);
    this.runner = new ScriptRunner(this.connection.client);
    const limits = new RedisStore(this.runner, scripts, keyPrefix, sent);
    this.limits = isCluster(this.connection.client) ? new SlotSplittingStore(limits) : limits;
    this.counters = new RedisCounterStore(this.runner, scripts, keyPrefix, sent);
  }

  /** One line for the log. */
  get description(): string {
    return this.connection === undefined
      ? `in-process store, at most ${this.options.memory.maxKeys} keys; limits hold per process`
      : `Redis, keys ${this.options.keyPrefix}:*`;
  }

  async open(): Promise<void> {
    this.sweeper = setInterval(() => this.entries.sweep(this.clock.now()), SWEEP_MS).unref();
    if (this.connection !== undefined) await untilReady(this.connection.client, READY_MS);
  }

  /** Empties the in-process store. */
  forget(): void {
    this.entries.clear();
  }

  close(): void {
    clearInterval(this.sweeper);
    this.entries.clear();
    if (this.connection !== undefined) close(this.connection);
  }
}
