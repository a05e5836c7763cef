import type { Plan } from '../../algorithms/plan.js';
import type { Decision } from '../../decision.js';
import type { Keys } from '../keys.js';
import type { Charge } from '../store.js';
import { StoreError } from '../store-error.js';
import type { ScriptRunner } from './script-runner.js';
import type { Script } from './scripts.js';
import {
  type Arg,
  fieldsOfAll,
  fieldsOfOne,
  pushDecision,
  pushRun,
  readAll,
  readOne,
  readTime,
} from './wire.js';

/**
 * More in one call would keep the server from others for too long; and of twice as many asked at once
 * the client reads the first half while the server decides the second.
 */
const MOST_DECISIONS = 64;

interface Waiting {
  readonly charges: readonly Charge[];
  readonly keys: readonly string[];
  readonly resolve: (decision: Decision) => void;
  readonly reject: (error: unknown) => void;
}

/** Decisions of one turn for one script: sent together, answered one by one. */
interface Batch {
  readonly id: unknown;
  readonly script: Script;
  readonly waiting: Waiting[];
  send: () => void;
}

/**
 * Collects the decisions of one turn of the event loop and sends them as one call per script, and on a
 * cluster per hash tag.
 *
 * Nothing waits: a batch goes out when the turn's input has been read, alone or with others, and at
 * once when it is full; several may be in flight. Decisions on one key are sent in the order in
 * which they were asked.
 */
export class Batcher {
  private readonly batches = new Map<unknown, Batch>();
  private scheduled = false;

  constructor(
    private readonly runner: ScriptRunner,
    private readonly keys: Keys,
    private readonly time: () => Arg,
    /** On a cluster a call touches one slot: decisions share one when they share a hash tag. */
    private readonly bySlot: boolean,
  ) {}

  /** For decisions with one state, by that algorithm's script. */
  decideOne(script: Script, charges: readonly Charge[]): Promise<Decision> {
    const charge = charges[0]!;
    const keys = [this.keys.limit(charge, charge.plan.states[0]!)];
    return this.add(script, charges, keys, this.sendRuns);
  }

  /** For decisions over several states. */
  decideAll(script: Script, charges: readonly Charge[]): Promise<Decision> {
    const keys = charges.flatMap((charge) =>
      charge.plan.states.map((state) => this.keys.limit(charge, state)),
    );
    return this.add(script, charges, keys, this.sendDecisions);
  }

  /** Sends what is waiting, so that what follows on the connection comes after it. */
  readonly flush = (): void => {
    this.scheduled = false;
    for (const batch of this.batches.values()) batch.send();
    this.batches.clear();
  };

  private add(
    script: Script,
    charges: readonly Charge[],
    keys: readonly string[],
    send: (batch: Batch) => Promise<void>,
  ): Promise<Decision> {
    return new Promise((resolve, reject) => {
      const id = this.bySlot ? `${script.sha} ${tagOf(keys[0]!)}` : script;
      if (this.batches.size > 0) this.keepOrder(id, keys);
      let batch = this.batches.get(id);
      if (batch === undefined) {
        const made: Batch = { id, script, waiting: [], send: () => void send(made) };
        batch = made;
        this.batches.set(id, batch);
        if (!this.scheduled) {
          this.scheduled = true;
          setImmediate(this.flush);
        }
      }
      batch.waiting.push({ charges, keys, resolve, reject });
      if (batch.waiting.length >= MOST_DECISIONS) {
        this.batches.delete(id);
        batch.send();
      }
    });
  }

  /** A key that waits for another script goes first. */
  private keepOrder(id: unknown, keys: readonly string[]): void {
    for (const batch of this.batches.values()) {
      if (batch.id === id) continue;
      // Scripts for one state meet a key's other script only where several states are decided.
      if (keys.length === 1 && batch.waiting[0]!.keys.length === 1) continue;
      if (batch.waiting.some((waiting) => waiting.keys.some((key) => keys.includes(key)))) {
        this.batches.delete(batch.id);
        batch.send();
      }
    }
  }

  /** Runs keep the order of each policy, and so of each key. */
  private readonly sendRuns = async ({ script, waiting }: Batch): Promise<void> => {
    const runs = runsOf(waiting);
    const keys: string[] = [];
    const args: Arg[] = [this.time()];
    for (const run of runs) {
      pushRun(args, run[0]!.charges[0]!, run.length);
      for (const one of run) keys.push(one.keys[0]!);
    }
    await this.answer(script, keys, args, runs.flat(), readOne, (charges) =>
      fieldsOfOne(charges[0]!),
    );
  };

  private readonly sendDecisions = async ({ script, waiting }: Batch): Promise<void> => {
    const args: Arg[] = [this.time(), 'decide'];
    for (const { charges } of waiting) pushDecision(args, charges);
    const keys = waiting.flatMap((one) => one.keys);
    await this.answer(script, keys, args, waiting, readAll, fieldsOfAll);
  };

  private async answer(
    script: Script,
    keys: readonly string[],
    args: readonly Arg[],
    waiting: readonly Waiting[],
    read: (reply: unknown[], at: number, charges: readonly Charge[]) => Decision,
    fieldsOf: (charges: readonly Charge[]) => number,
  ): Promise<void> {
    let reply: unknown[];
    try {
      reply = (await this.runner.run(script, keys, args)) as unknown[];
      readTime(reply);
    } catch (error) {
      const failure = StoreError.from(error);
      for (const one of waiting) one.reject(failure);
      return;
    }
    let at = 1;
    for (const one of waiting) {
      try {
        one.resolve(read(reply, at, one.charges));
      } catch (error) {
        one.reject(StoreError.from(error));
      }
      at += fieldsOf(one.charges);
    }
  }
}

/** Decisions of one plan, cost and block follow each other; each plan's own order is kept. */
function runsOf(waiting: readonly Waiting[]): Waiting[][] {
  const runs: Waiting[][] = [];
  const latest = new Map<Plan, Waiting[]>();
  for (const one of waiting) {
    const charge = one.charges[0]!;
    const run = latest.get(charge.plan);
    const like = run?.[0]!.charges[0];
    if (run !== undefined && like!.cost === charge.cost && like!.blockMs === charge.blockMs) {
      run.push(one);
    } else {
      const next = [one];
      latest.set(charge.plan, next);
      runs.push(next);
    }
  }
  return runs;
}

/** What a cluster hashes of a key of ours. */
function tagOf(key: string): string {
  return key.slice(key.indexOf('{') + 1, key.indexOf('}'));
}
