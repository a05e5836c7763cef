/** How willingly an entry is given up when the map is full: the lowest rank goes first. */
export const ROOMY = 0;
/** Nothing is left on it: forgetting it would hand out a new limit. */
export const EXHAUSTED = 1;
/** It has been denied, or blocked: forgetting it would reward who was kept out. */
export const DENIED = 2;

const RANKS = 3;

export class Entry<T> {
  value: T | undefined = undefined;
  blockedUntil = 0;
  expiresAt = 0;
  rank = ROOMY;
  older: Entry<T> | undefined = undefined;
  newer: Entry<T> | undefined = undefined;

  constructor(
    readonly space: Space<T>,
    readonly key: string,
  ) {}
}

/** Entries of one kind, so that their keys need no prefix. Gone when its last entry is. */
export class Space<T> {
  readonly entries = new Map<string, Entry<T>>();
  alive = true;

  constructor(readonly name: string) {}
}

/** Entries of one rank, the least recently used first. */
interface Queue<T> {
  oldest: Entry<T> | undefined;
  newest: Entry<T> | undefined;
}

const WHEEL_MS = 100;

/**
 * At most `capacity` entries. When full, those that have expired go first, then the least recently
 * used of the lowest rank. Everything is O(1) amortised: a map, one queue per rank through links in
 * the entries, and a wheel of expiry times in which an entry is looked at again only when the tick
 * it was filed under has passed.
 */
export class BoundedMap<T> {
  private readonly spaces = new Map<string, Space<T>>();
  private readonly queues: readonly Queue<T>[] = Array.from({ length: RANKS }, () => ({
    oldest: undefined,
    newest: undefined,
  }));
  private readonly wheel = new Map<number, Entry<T>[]>();
  private sweptUntil = -Infinity;
  private filed = 0;
  private count = 0;

  constructor(private readonly capacity: number) {}

  get size(): number {
    return this.count;
  }

  /** To be asked for again when it is no longer alive. */
  space(name: string): Space<T> {
    let space = this.spaces.get(name);
    if (space === undefined) {
      space = new Space(name);
      this.spaces.set(name, space);
    }
    return space;
  }

  /** The entry, if it is there and has not expired. */
  get(space: Space<T>, key: string, now: number): Entry<T> | undefined {
    const entry = space.entries.get(key);
    return entry === undefined || entry.expiresAt <= now ? undefined : entry;
  }

  /** The entry, made if need be; then `keep` has to be called. */
  open(space: Space<T>, key: string, now: number): Entry<T> {
    const found = space.entries.get(key);
    if (found !== undefined) {
      if (found.expiresAt <= now) {
        found.value = undefined;
        found.blockedUntil = 0;
        this.rank(found, ROOMY);
      }
      return found;
    }
    if (this.count >= this.capacity) this.makeRoom(now);
    const home = space.alive ? space : this.space(space.name);
    const entry = new Entry<T>(home, key);
    home.entries.set(key, entry);
    this.count++;
    this.append(entry);
    return entry;
  }

  /** Says how long the entry is worth keeping. */
  keep(entry: Entry<T>, expiresAt: number): void {
    const filed = entry.expiresAt;
    entry.expiresAt = expiresAt;
    if (filed === 0) this.file(entry);
  }

  /** Moves the entry to the end of a rank's queue: it has just been used. */
  rank(entry: Entry<T>, rank: number): void {
    const queue = this.queues[entry.rank]!;
    if (entry.rank === rank && queue.newest === entry) return;
    this.unlink(entry);
    entry.rank = rank;
    this.append(entry);
  }

  delete(space: Space<T>, key: string): boolean {
    const entry = space.entries.get(key);
    if (entry === undefined) return false;
    this.drop(entry);
    return true;
  }

  clear(): void {
    for (const space of this.spaces.values()) space.alive = false;
    this.spaces.clear();
    this.count = 0;
    this.wheel.clear();
    this.filed = 0;
    for (const queue of this.queues) queue.oldest = queue.newest = undefined;
  }

  /** Forgets what has expired. */
  sweep(now: number): void {
    const until = Math.floor(now / WHEEL_MS);
    if (until - this.sweptUntil > this.wheel.size) {
      for (const tick of [...this.wheel.keys()]) if (tick < until) this.sweepTick(tick, now);
    } else {
      for (let tick = this.sweptUntil; tick < until; tick++) this.sweepTick(tick, now);
    }
    this.sweptUntil = until;
  }

  private sweepTick(tick: number, now: number): void {
    const filed = this.wheel.get(tick);
    if (filed === undefined) return;
    this.wheel.delete(tick);
    this.filed -= filed.length;
    for (const entry of filed) {
      if (entry.space.entries.get(entry.key) !== entry) continue;
      if (entry.expiresAt <= now) this.drop(entry);
      else this.file(entry);
    }
  }

  private makeRoom(now: number): void {
    this.sweep(now);
    if (this.count < this.capacity) return;
    const queue = this.queues.find(({ oldest }) => oldest !== undefined)!;
    this.drop(queue.oldest!);
    // What was dropped is still filed; the wheel is made anew before that outgrows the map.
    if (this.filed > 2 * this.capacity) {
      this.wheel.clear();
      this.filed = 0;
      for (const space of this.spaces.values()) {
        for (const entry of space.entries.values()) this.file(entry);
      }
    }
  }

  private file(entry: Entry<T>): void {
    const tick = Math.floor(entry.expiresAt / WHEEL_MS);
    const filed = this.wheel.get(tick);
    if (filed === undefined) this.wheel.set(tick, [entry]);
    else filed.push(entry);
    this.filed++;
    // A clock that has stepped back files under ticks already swept.
    if (tick < this.sweptUntil) this.sweptUntil = tick;
  }

  private drop(entry: Entry<T>): void {
    const { space } = entry;
    space.entries.delete(entry.key);
    this.count--;
    this.unlink(entry);
    if (space.entries.size === 0) {
      space.alive = false;
      this.spaces.delete(space.name);
    }
  }

  private append(entry: Entry<T>): void {
    const queue = this.queues[entry.rank]!;
    entry.older = queue.newest;
    entry.newer = undefined;
    if (queue.newest === undefined) queue.oldest = entry;
    else queue.newest.newer = entry;
    queue.newest = entry;
  }

  private unlink(entry: Entry<T>): void {
    const queue = this.queues[entry.rank]!;
    if (entry.older === undefined) queue.oldest = entry.newer;
    else entry.older.newer = entry.newer;
    if (entry.newer === undefined) queue.newest = entry.older;
    else entry.newer.older = entry.older;
  }
}
