import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Decision, PolicyDefinition, Rule } from '../../lib/index.js';
import { LimitType } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { chargeOf, compilePolicy } from '../../lib/limiting/policies.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { openServices, type Services } from '../support/services.js';

/** Limits hold for an hour: nothing expires, so what is admitted is what the limit says. */
const RULES: Readonly<Record<string, Rule>> = {
  'sliding-log': { limit: 40, window: '1h' },
  'fixed-window': { algorithm: 'fixed-window', limit: 40, window: '365d' },
  'sliding-counter': { algorithm: 'sliding-counter', limit: 40, window: '1h' },
  'token-bucket': { algorithm: 'token-bucket', limit: 40, refill: 1, window: '1h' },
};
const MIXED = Object.values(RULES);

let cluster: RedisCluster;
let services: Services;

beforeAll(async () => {
  cluster = await RedisCluster.start();
  services = await openServices('redis', { redis: { cluster: cluster.seeds } });
}, 30_000);

afterAll(async () => {
  await services?.close();
  await cluster?.stop();
});

/** No call has failed, been refused by a server, or been decided elsewhere. */
function expectNoStoreErrors(): void {
  expect(services.events.filter(({ type }) => type !== 'self-check')).toEqual([]);
}

async function ask(policy: PolicyDefinition, subject: string, times: number): Promise<Decision[]> {
  const decisions = await Promise.all(
    Array.from({ length: times }, () => services.limiter.consume(policy, subject)),
  );
  expect(new Set(decisions.map(({ source }) => source))).toEqual(new Set(['redis']));
  return decisions;
}

function admitted(decisions: readonly Decision[]): number {
  return decisions.filter(({ allowed }) => allowed).length;
}

/** Where a subject's keys are, and another master that they could move to. */
async function placeOf(policy: string, subject: string) {
  const slot = await cluster.slotOf(`${services.keyPrefix}:{${policy}|custom|${subject}}:x`);
  const from = await cluster.masterOf(slot);
  const to = (await cluster.masters()).find((node) => node !== from)!;
  return { slot, from, to };
}

/** A slot is given to another master; no client is told. */
async function move(policy: string, subject: string): Promise<void> {
  const { slot, from, to } = await placeOf(policy, subject);
  await cluster.migrateSlot(slot, from, to);
}

describe('on six nodes', () => {
  it('decides and counts for many subjects in one turn, on every master', async () => {
    const policy = { name: 'many', rules: '2/1h' } as const;
    const decisions = await Promise.all(
      Array.from({ length: 600 }, (_, i) => services.limiter.consume(policy, `user-${i % 200}`)),
    );
    expect(admitted(decisions)).toBe(400);
    const counts = await Promise.all(
      Array.from({ length: 100 }, (_, i) => services.windows.calculateCount(`k${i % 50}`, '1h')),
    );
    expect(counts.filter((count) => count === 2)).toHaveLength(50);
    for (const { redis } of await cluster.masters()) {
      expect((await redis.keys(`${services.keyPrefix}:*`)).length).toBeGreaterThan(20);
    }
    expectNoStoreErrors();
  });

  it('loads its scripts wherever they are not, as often as they go', async () => {
    const policy = { name: 'flushed', rules: '50/1h' } as const;
    let allowed = 0;
    for (let round = 0; round < 10; round++) {
      await Promise.all(cluster.nodes().map(({ redis }) => redis.script('FLUSH')));
      allowed += admitted(await ask(policy, 'one', 10));
    }
    expect(allowed).toBe(50);
    expectNoStoreErrors();
  });
});

describe('several policies in one decision on six nodes', () => {
  const defaults = { onStoreError: 'local', shadow: false } as const;
  const charge = (definition: PolicyDefinition, subject: string) =>
    chargeOf(compilePolicy(definition, defaults, 'policy'), subject, 1);

  const all = { name: 'all', type: LimitType.GLOBAL, rules: '5/1h' } as const;
  const user = { name: 'user', type: LimitType.USER_ID, rules: '3/1h' } as const;
  const ip = { name: 'ip', type: LimitType.IP, rules: '9/1h' } as const;
  const ask = (who: string) =>
    services.limiter.decide([charge(all, 'global'), charge(user, who), charge(ip, '192.0.2.1')]);
  const left = async (policy: PolicyDefinition, subject: string) =>
    (await services.limiter.peek(policy, subject)).policies[0]!.rules[0]!.remaining;

  it('charges all of them or none', async () => {
    const first = await ask('u1');
    expect(first.allowed).toBe(true);
    expect(first.policies.map(({ name }) => name)).toEqual(['all', 'user', 'ip']);
    for (let i = 0; i < 2; i++) expect((await ask('u1')).allowed).toBe(true);
    for (let i = 0; i < 4; i++) expect((await ask('u1')).violated).toEqual(['user']);
    expect(await left(all, 'global')).toBe(2);
    expect(await left(ip, '192.0.2.1')).toBe(6);
    for (let i = 0; i < 2; i++) expect((await ask('u2')).allowed).toBe(true);
    for (let i = 0; i < 4; i++) expect((await ask('u2')).violated).toEqual(['all']);
    expect(await left(user, 'u2')).toBe(1);
    expect(await left(ip, '192.0.2.1')).toBe(4);
    expectNoStoreErrors();
  });

  it('gives back what a decision over several slots charged', async () => {
    await services.limiter.reset(all, 'global');
    const decision = await ask('u3');
    await services.limiter.refund(decision);
    expect(await left(user, 'u3')).toBe(3);
    expect(await left(all, 'global')).toBe(5);
    expect(await left(ip, '192.0.2.1')).toBe(4);
  });
});

describe('while a slot moves', () => {
  it.each(Object.entries(RULES))(
    'a %s admits its limit: MOVED, ASK, and the key on either side',
    async (name, rules) => {
      const policy = { name: `moving-${name}`, rules };
      expect(admitted(await ask(policy, 'one', 10))).toBe(10);
      const { slot, from, to } = await placeOf(policy.name, 'one');
      await cluster.beginMigration(slot, from, to);
      expect(admitted(await ask(policy, 'one', 10))).toBe(10);
      expect(await cluster.moveKeys(slot, from, to)).toBe(1);
      expect(admitted(await ask(policy, 'one', 10))).toBe(10);
      await cluster.settle(slot, to);
      expect(admitted(await ask(policy, 'one', 50))).toBe(10);
      expectNoStoreErrors();
    },
  );

  it('a subject that is new is counted where the slot goes to', async () => {
    const policy = { name: 'new', rules: '5/1h' } as const;
    const { slot, from, to } = await placeOf(policy.name, 'one');
    await cluster.beginMigration(slot, from, to);
    expect(admitted(await ask(policy, 'one', 9))).toBe(5);
    expect(await to.redis.call('CLUSTER', 'COUNTKEYSINSLOT', String(slot))).toBe(1);
    await cluster.settle(slot, to);
    expect(admitted(await ask(policy, 'one', 3))).toBe(0);
    expectNoStoreErrors();
  });

  it('a policy of all algorithms admits its limit, with any of its keys on either side', async () => {
    const policy = { name: 'mixed', rules: MIXED };
    expect(admitted(await ask(policy, 'one', 3))).toBe(3);
    const { slot, from, to } = await placeOf(policy.name, 'one');
    await cluster.beginMigration(slot, from, to);
    const keys = (await from.redis.cluster('GETKEYSINSLOT', slot, 10)).sort();
    expect(keys).toHaveLength(4);
    for (const key of keys) {
      await cluster.moveKeys(slot, from, to, [key]);
      expect(admitted(await ask(policy, 'one', 7))).toBe(7);
    }
    expect(admitted(await ask(policy, 'one', 20))).toBe(9);
    await cluster.settle(slot, to);
    const [denied] = await ask(policy, 'one', 9);
    expect(denied!.allowed).toBe(false);
    expect(denied!.policies[0]!.rules.map(({ remaining }) => remaining)).toEqual([0, 0, 0, 0]);
    expectNoStoreErrors();
  });

  it('a new subject of a policy of all algorithms is decided, and so is all that concerns it', async () => {
    const policy = { name: 'mixed-new', rules: MIXED };
    // Driven time: what a bucket gets back does not depend on how long the test takes.
    const driven = await openServices('redis', {
      redis: { cluster: cluster.seeds },
      keyPrefix: services.keyPrefix,
      clock: new ManualClock(Date.UTC(2026, 0, 1)),
    });
    const { limiter } = driven;
    const { slot, from, to } = await placeOf(policy.name, 'one');
    await cluster.beginMigration(slot, from, to);
    const first = await limiter.consume(policy, 'one');
    const second = await limiter.consume(policy, 'one');
    expect(second.policies[0]!.rules.map(({ limit }) => limit)).toEqual([40, 40, 40, 40]);
    await limiter.refund(first);
    const remaining = async () =>
      (await limiter.peek(policy, 'one')).policies[0]!.rules.map((rule) => rule.remaining);
    expect(await remaining()).toEqual([39, 39, 39, 39]);
    await limiter.block(policy, 'one', '1m');
    expect((await limiter.consume(policy, 'one')).allowed).toBe(false);
    await limiter.unblock(policy, 'one');
    expect(await remaining()).toEqual([39, 39, 39, 39]);
    await limiter.reset(policy, 'one');
    expect(await remaining()).toEqual([40, 40, 40, 40]);
    await cluster.settle(slot, to);
    expect(await remaining()).toEqual([40, 40, 40, 40]);
    expect(driven.events.filter(({ type }) => type !== 'self-check')).toEqual([]);
    await driven.close();
  });

  it('an event is counted once, on whichever side', async () => {
    const key = 'events';
    const slot = await cluster.slotOf(`${services.keyPrefix}:{counter|${key}}:x`);
    const from = await cluster.masterOf(slot);
    const to = (await cluster.masters()).find((node) => node !== from)!;
    const count = async () => {
      const counts = await Promise.all(
        Array.from({ length: 20 }, () => services.windows.calculateCount(key, '1h')),
      );
      return Math.max(...counts);
    };
    expect(await count()).toBe(20);
    await cluster.beginMigration(slot, from, to);
    expect(await count()).toBe(40);
    await cluster.moveKeys(slot, from, to);
    expect(await count()).toBe(60);
    await cluster.settle(slot, to);
    expect(await count()).toBe(80);
    expectNoStoreErrors();
  });
});

describe('under load while slots move to and fro', () => {
  /** 16 callers, who ask as long as the slot moves, `moves` times. */
  async function underLoad(policy: PolicyDefinition & { name: string }, moves: number) {
    const decisions: Decision[] = [];
    let moving = true;
    const caller = async () => {
      while (moving) decisions.push(await services.limiter.consume(policy, 'hot'));
    };
    const callers = Promise.all(Array.from({ length: 16 }, caller));
    for (let i = 0; i < moves; i++) await move(policy.name, 'hot');
    moving = false;
    await callers;
    expectNoStoreErrors();
    return decisions;
  }

  it('a policy of one algorithm admits exactly its limit, each place once', async () => {
    const policy = { name: 'load', rules: { limit: 500, window: '1h' } } as const;
    const decisions = await underLoad(policy, 20);
    const places = decisions
      .filter(({ allowed }) => allowed)
      .map(({ policies }) => policies[0]!.rules[0]!.remaining)
      .sort((a, b) => b - a);
    expect(places).toEqual(Array.from({ length: 500 }, (_, i) => 499 - i));
  });

  it('a policy of all algorithms admits exactly its limit', async () => {
    const policy = { name: 'load-mixed', rules: MIXED };
    const decisions = await underLoad(policy, 20);
    expect(admitted(decisions)).toBe(40);
  });
});

it('a server that is lost while it is asked costs an answer, not the process', async () => {
  const policy = { name: 'lost', rules: '5/1h' } as const;
  const { slot, from, to } = await placeOf(policy.name, 'one');
  const lost: unknown[] = [];
  const note = (error: unknown) => lost.push(error);
  process.on('unhandledRejection', note);
  await cluster.beginMigration(slot, from, to);
  cluster.pause(to);
  const asked = services.limiter.consume(policy, 'one');
  await new Promise((resolve) => setTimeout(resolve, 50));
  await cluster.kill(to);
  expect((await asked).source).toBe('fallback');
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(lost).toEqual([]);
});
