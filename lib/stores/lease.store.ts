import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.js';
import { decide, type Decision, type PolicyDecision } from '../decision.js';
import { subjectKey } from './keys.js';
import { Lease } from './lease.js';
import type { Charge, LimitStore } from './store.js';

/** Subjects that are remembered to be nearly exhausted; one that is forgotten costs a question. */
const MOST_SCARCE = 10_000;

/** What came of asking for one policy's units. */
interface Taken {
  readonly policy: PolicyDecision;
  /** Where the units came from; undefined: denied. */
  readonly lease: Lease | undefined;
  readonly source: Decision['source'];
  readonly decidedAt: number;
}

/**
 * Around a store: policies with a `lease` take their units from it in blocks, and spend them here.
 *
 * A block is booked by rules whose windows are as much longer as it lives, so that what is spent at
 * its end counts a whole window from then: the limit holds in every window, over all processes. What
 * is not spent goes back when the block ends. The error is under-use alone: at most a block per
 * process, and a window that is longer by `ttl`.
 */
export class LeaseStore implements LimitStore {
  private readonly leases = new Map<string, Lease>();
  /** Bookings under way, so that all who wait for one share it. */
  private readonly bookings = new Map<string, Promise<Taken>>();
  /** Until when whole blocks are not worth asking for. */
  private readonly scarce = new LRUCache<string, number>({ max: MOST_SCARCE });
  /** Where a charge was taken from, to be given back there. */
  private readonly origins = new WeakMap<Charge, Lease>();

  constructor(
    private readonly store: LimitStore,
    /** That of the store, or one that runs as fast. */
    private readonly clock: Clock,
  ) {}

  decide(charges: readonly Charge[]): Promise<Decision> {
    return charges.some(isLeased) ? this.decideLeased(charges) : this.store.decide(charges);
  }

  async peek(charges: readonly Charge[]): Promise<Decision> {
    const now = this.clock.now();
    const seen = await this.store.peek(charges.map(asBooked));
    const policies = seen.policies.map((policy, i) => {
      const charge = charges[i]!;
      if (!isLeased(charge)) return policy;
      const lease = this.live(charge, now);
      const known = asWritten(policy, charge);
      return lease === undefined ? known : withUnits(known, lease.units, charge.cost);
    });
    return decide(policies, charges, seen.source, seen.decidedAt);
  }

  refund(charge: Charge, cost: number, chargedAt: number): Promise<void> {
    const origin = this.origins.get(charge);
    if (origin === undefined) return this.store.refund(charge, cost, chargedAt);
    if (this.leases.get(subjectKey(charge)) === origin && origin.endsAt > this.clock.now()) {
      origin.units += cost;
      return Promise.resolve();
    }
    return this.store.refund(origin.booked, cost, origin.bookedAt);
  }

  async reset(charge: Charge): Promise<void> {
    this.drop(subjectKey(charge));
    await this.store.reset(asBooked(charge));
  }

  async block(charge: Charge, durationMs: number): Promise<void> {
    const lease = this.drop(subjectKey(charge));
    if (lease !== undefined) await this.giveBack(lease);
    await this.store.block(asBooked(charge), durationMs);
  }

  /** Gives back what is not spent. */
  async close(): Promise<void> {
    const leases = [...this.leases.keys()].map((key) => this.drop(key)!);
    await Promise.all(leases.map((lease) => this.giveBack(lease)));
  }

  /** Units taken here cost nobody to put back, so they are taken first. */
  private async decideLeased(charges: readonly Charge[]): Promise<Decision> {
    const taken = new Map<Charge, Taken>();
    for (const charge of charges.filter(isLeased)) {
      const one = await this.take(charge);
      taken.set(charge, one);
      if (one.lease === undefined && !charge.shadow) return this.deny(charges, taken, one);
    }
    const others = charges.filter((charge) => !isLeased(charge));
    const rest = others.length === 0 ? undefined : await this.store.decide(others);
    const [first] = taken.values();
    const decision = decide(
      charges.map((charge) => taken.get(charge)?.policy ?? rest!.policies[others.indexOf(charge)]!),
      charges,
      rest?.source ?? first!.source,
      rest?.decidedAt ?? first!.decidedAt,
    );
    if (!decision.allowed) this.putBack(taken, () => true);
    else if (decision.shadow) this.putBack(taken, (charge) => charge.shadow);
    return decision;
  }

  /** A denial by a leased policy: nothing is charged, the others are looked at. */
  private async deny(
    charges: readonly Charge[],
    taken: ReadonlyMap<Charge, Taken>,
    denied: Taken,
  ): Promise<Decision> {
    this.putBack(taken, () => true);
    const unknown = charges.filter((charge) => !taken.has(charge));
    const seen = unknown.length === 0 ? undefined : await this.peek(unknown);
    return decide(
      charges.map(
        (charge) => taken.get(charge)?.policy ?? seen!.policies[unknown.indexOf(charge)]!,
      ),
      charges,
      denied.source,
      denied.decidedAt,
    );
  }

  private putBack(taken: ReadonlyMap<Charge, Taken>, which: (charge: Charge) => boolean): void {
    for (const [charge, { lease }] of taken) {
      if (lease !== undefined && which(charge)) lease.units += charge.cost;
    }
  }

  private async take(charge: Charge): Promise<Taken> {
    const key = subjectKey(charge);
    for (;;) {
      const now = this.clock.now();
      const lease = this.live(charge, now);
      if (lease !== undefined && lease.units >= Math.max(1, charge.cost))
        return this.spend(lease, charge, now);
      const booking = this.bookings.get(key);
      if (booking === undefined) return this.book(charge, key);
      const { lease: booked } = await booking;
      // Who is denied a block may be denied a unit: ask for oneself.
      if (booked === undefined) return this.book(charge, key);
    }
  }

  private spend(lease: Lease, charge: Charge, now: number): Taken {
    lease.units -= charge.cost;
    this.origins.set(charge, lease);
    return {
      policy: lease.policy(now),
      lease,
      source: lease.source,
      decidedAt: lease.decidedAt(now),
    };
  }

  private book(charge: Charge, key: string): Promise<Taken> {
    const booking = this.bookBlock(charge, key).finally(() => {
      if (this.bookings.get(key) === booking) this.bookings.delete(key);
    });
    this.bookings.set(key, booking);
    return booking;
  }

  /** A whole block; where that is denied what is left of it, and at last what is asked for. */
  private async bookBlock(charge: Charge, key: string): Promise<Taken> {
    const { size, ttlMs } = charge.plan.lease!;
    const { cost } = charge;
    let sentAt = this.clock.now();
    const isScarce = cost === 0 || (this.scarce.get(key) ?? 0) > sentAt;
    let booked = blockOf(charge, isScarce ? cost : Math.max(size, cost));
    let booking = await this.store.decide([booked]);
    for (let least = cost + 1; !booking.allowed && booked.cost > cost; least = 0) {
      this.scarce.set(key, sentAt + ttlMs);
      const left = Math.min(...booking.policies[0]!.rules.map(({ remaining }) => remaining));
      sentAt = this.clock.now();
      booked = blockOf(charge, least > 0 ? Math.max(cost, Math.min(left, booked.cost - 1)) : cost);
      booking = await this.store.decide([booked]);
    }
    const { source, decidedAt } = booking;
    const policy = asWritten(booking.policies[0]!, charge);
    if (!policy.allowed) return { policy, lease: undefined, source, decidedAt };
    const lease = new Lease(booked, charge.plan, policy, booking, sentAt);
    const taken = this.spend(lease, charge, this.clock.now());
    if (lease.units > 0) this.keep(key, lease);
    return taken;
  }

  private keep(key: string, lease: Lease): void {
    const former = this.drop(key);
    if (former !== undefined) void this.giveBack(former);
    this.leases.set(key, lease);
    lease.endBy(this.clock, () => {
      if (this.leases.get(key) !== lease) return;
      this.leases.delete(key);
      void this.giveBack(lease);
    });
  }

  private drop(key: string): Lease | undefined {
    const lease = this.leases.get(key);
    lease?.drop();
    this.leases.delete(key);
    this.scarce.delete(key);
    return lease;
  }

  /** A store that fails keeps them until they expire: fewer units, never more. */
  private async giveBack(lease: Lease): Promise<void> {
    const { units } = lease;
    lease.units = 0;
    if (units === 0) return;
    await this.store.refund(lease.booked, units, lease.bookedAt).catch(() => undefined);
  }

  private live(charge: Charge, now: number): Lease | undefined {
    if (!isLeased(charge)) return undefined;
    const lease = this.leases.get(subjectKey(charge));
    return lease !== undefined && lease.endsAt > now ? lease : undefined;
  }
}

function isLeased({ plan }: Charge): boolean {
  return plan.lease !== undefined;
}

/** The charge as the store knows it. */
function asBooked(charge: Charge): Charge {
  const { lease } = charge.plan;
  return lease === undefined ? charge : { ...charge, plan: lease.plan };
}

function blockOf(charge: Charge, units: number): Charge {
  // A block that is denied keeps nobody out: one unit may be there still.
  const blockMs = units > charge.cost ? 0 : charge.blockMs;
  return { ...asBooked(charge), cost: units, blockMs };
}

/** With the windows that the user wrote. */
function asWritten(policy: PolicyDecision, { plan }: Charge): PolicyDecision {
  const rules = policy.rules.map((rule, i) => ({ ...rule, windowMs: plan.rules[i]!.windowMs }));
  return { ...policy, rules };
}

/** Beside what the store has, this process may spend `units`. */
function withUnits(policy: PolicyDecision, units: number, cost: number): PolicyDecision {
  const isEnough = units >= Math.max(1, cost);
  const rules = policy.rules.map((rule) => ({
    ...rule,
    remaining: Math.min(rule.limit, rule.remaining + units),
    retryAfterMs: isEnough ? 0 : rule.retryAfterMs,
  }));
  return { ...policy, allowed: policy.allowed || isEnough, rules };
}
