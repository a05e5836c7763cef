import type { Clock } from '../../clock.js';
import type { Decision } from '../../decision.js';
import type { Keys } from '../keys.js';
import type { Charge, LimitStore } from '../store.js';
import { StoreError } from '../store-error.js';
import { Batcher } from './batch.js';
import { isCluster } from './connection.js';
import type { ScriptRunner } from './script-runner.js';
import type { Scripts } from './scripts.js';
import { type Arg, pushDecision, readAll, readResult, readTime } from './wire.js';

/** Limits in Redis: every decision is one script call, shared with the others of its turn. */
export class RedisStore implements LimitStore {
  private readonly batcher: Batcher;
  private readonly time: () => Arg;

  constructor(
    private readonly runner: ScriptRunner,
    private readonly scripts: Scripts,
    private readonly keys: Keys,
    /** The application's clock; undefined: the server's. */
    clock: Clock | undefined,
  ) {
    this.time = clock === undefined ? () => '' : () => clock.now();
    this.batcher = new Batcher(runner, keys, this.time, isCluster(runner.client));
  }

  decide(charges: readonly Charge[]): Promise<Decision> {
    const states = charges[0]!.plan.states;
    return charges.length === 1 && states.length === 1
      ? this.batcher.decideOne(this.scripts.decideOne[states[0]!.algorithm.name], charges)
      : this.batcher.decideAll(this.scripts.decideAll, charges);
  }

  async peek(charges: readonly Charge[]): Promise<Decision> {
    this.batcher.flush();
    const args: Arg[] = [this.time(), 'peek'];
    pushDecision(args, charges);
    const keys = charges.flatMap((charge) => this.keysOf(charge));
    try {
      const reply = await this.runner.run(this.scripts.decideAll, keys, args);
      readTime(reply);
      return readAll(reply as unknown[], 1, charges);
    } catch (error) {
      throw StoreError.from(error);
    }
  }

  refund(charge: Charge, cost: number, chargedAt: number): Promise<void> {
    return this.amend(charge, charge.plan.states.length, ({ algorithm, numbers }) => [
      'refund',
      numbers.length + 3,
      algorithm.name,
      cost,
      chargedAt,
      ...numbers,
    ]);
  }

  reset(charge: Charge): Promise<void> {
    return this.amend(charge, charge.plan.states.length, () => ['reset', 0]);
  }

  block(charge: Charge, durationMs: number): Promise<void> {
    // One state tells for all of them; lifting leaves none behind.
    const states = durationMs > 0 ? 1 : charge.plan.states.length;
    return this.amend(charge, states, ({ algorithm, numbers }) => [
      'block',
      numbers.length + 2,
      algorithm.name,
      durationMs,
      ...numbers,
    ]);
  }

  private async amend(
    charge: Charge,
    states: number,
    operation: (state: Charge['plan']['states'][number]) => Arg[],
  ): Promise<void> {
    this.batcher.flush();
    const keys = this.keysOf(charge).slice(0, states);
    const args = charge.plan.states.slice(0, states).flatMap(operation);
    try {
      const reply = await this.runner.run(this.scripts.amend, keys, [this.time(), ...args]);
      for (let i = 0; i < states; i++) readResult(reply, i, 0);
    } catch (error) {
      throw StoreError.from(error);
    }
  }

  private keysOf(charge: Charge): string[] {
    return charge.plan.states.map((state) => this.keys.limit(charge, state));
  }
}
