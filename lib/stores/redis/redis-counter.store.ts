import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.js';
import { EVENT_LOG, type Keys, sliceRing } from '../keys.js';
import type { CounterStore, CountResult } from '../store.js';
import { StoreError } from '../store-error.js';
import type { ScriptRunner } from './script-runner.js';
import type { Scripts } from './scripts.js';
import { type Arg, readResult } from './wire.js';

/** Counters in Redis: event logs on sorted sets, rings of slices in strings. */
export class RedisCounterStore implements CounterStore {
  private readonly time: () => Arg;
  /** Makes events of this process unlike those of every other. */
  private readonly process = randomBytes(9).toString('base64url');
  private events = 0;

  constructor(
    private readonly runner: ScriptRunner,
    private readonly scripts: Scripts,
    private readonly keys: Keys,
    /** The application's clock; undefined: the server's. */
    clock: Clock | undefined,
  ) {
    this.time = clock === undefined ? () => '' : () => clock.now();
  }

  async record(
    key: string,
    windowMs: number,
    id: string | undefined,
    threshold: number,
    clear: boolean,
  ): Promise<CountResult> {
    const member =
      id === undefined ? `:${this.process}${(this.events++).toString(36)}` : this.memberOf(id);
    const [count, reached] = await this.run(
      this.keys.counter(key, EVENT_LOG),
      'event-log.record',
      [windowMs, member, threshold, clear ? 1 : 0],
      2,
    );
    return { count: count!, reached: reached === 1 };
  }

  async count(key: string, windowMs: number): Promise<number> {
    const keyName = this.keys.counter(key, EVENT_LOG);
    return (await this.run(keyName, 'event-log.count', [windowMs], 1))[0]!;
  }

  timeline(key: string, windowMs: number, buckets: number): Promise<number[]> {
    const keyName = this.keys.counter(key, EVENT_LOG);
    return this.run(keyName, 'event-log.timeline', [windowMs, buckets], buckets);
  }

  async remove(key: string, id: string): Promise<boolean> {
    const keyName = this.keys.counter(key, EVENT_LOG);
    return (await this.run(keyName, 'event-log.remove', [this.memberOf(id)], 1))[0] === 1;
  }

  async clear(key: string): Promise<void> {
    await this.run(this.keys.counter(key, EVENT_LOG), 'event-log.clear', [], 1);
  }

  async addToSlice(
    key: string,
    sliceMs: number,
    slices: number,
    by: number,
  ): Promise<[number, number]> {
    const keyName = this.keys.counter(key, sliceRing(sliceMs, slices));
    const [slice, window] = await this.run(keyName, 'slice-ring.add', [sliceMs, slices, by], 2);
    return [slice!, window!];
  }

  async readSlices(key: string, sliceMs: number, slices: number): Promise<number[]> {
    const keyName = this.keys.counter(key, sliceRing(sliceMs, slices));
    const reply = await this.run(keyName, 'slice-ring.read', [sliceMs, slices], slices + 3);
    return reply.slice(2);
  }

  async clearSlices(key: string, sliceMs: number, slices: number): Promise<void> {
    const keyName = this.keys.counter(key, sliceRing(sliceMs, slices));
    await this.run(keyName, 'slice-ring.clear', [], 1);
  }

  /** A caller's id, bounded, and apart from the events without one and from '='. */
  private memberOf(id: string): string {
    return `.${this.keys.eventId(id)}`;
  }

  private async run(
    key: string,
    operation: string,
    args: readonly Arg[],
    least: number,
  ): Promise<number[]> {
    try {
      const reply = await this.runner.run(
        this.scripts.count,
        [key],
        [this.time(), operation, args.length, ...args],
      );
      return readResult(reply, 0, least);
    } catch (error) {
      throw StoreError.from(error);
    }
  }
}
