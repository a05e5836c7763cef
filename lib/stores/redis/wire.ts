import { NEVER } from '../../algorithms/algorithm.js';
import { decide, type Decision, type PolicyDecision } from '../../decision.js';
import { type Charge, policyDecision } from '../store.js';
import { StoreError } from '../store-error.js';

/** Arguments and replies of the scripts in lua/: the only file that knows their positions. */
export type Arg = string | number;

/** How many of a reply's fields one decision by decide-one takes. */
export function fieldsOfOne(charge: Charge): number {
  return 1 + 3 * charge.plan.rules.length;
}

/** How many of a reply's fields one decision by decide-all takes. */
export function fieldsOfAll(charges: readonly Charge[]): number {
  let fields = 1;
  for (const charge of charges) fields += fieldsOfOne(charge);
  return fields;
}

/** A run of decisions of one policy and cost, for decide-one. */
export function pushRun(args: Arg[], charge: Charge, decisions: number): void {
  const { numbers } = charge.plan.states[0]!;
  args.push(decisions, charge.plan.rules.length, numbers.length, charge.cost, charge.blockMs);
  for (const number of numbers) args.push(number);
}

/** One decision, for decide-all. */
export function pushDecision(args: Arg[], charges: readonly Charge[]): void {
  args.push(charges.length);
  for (const { plan, shadow, cost, blockMs } of charges) {
    args.push(shadow ? 1 : 0, cost, blockMs, plan.states.length);
    for (const { algorithm, order, numbers } of plan.states) {
      args.push(algorithm.name, order.length, numbers.length, ...numbers);
    }
  }
}

/** The store's time, first in every reply. */
export function readTime(reply: unknown): number {
  const now: unknown = Array.isArray(reply) ? reply[0] : undefined;
  if (typeof now !== 'number' || !Number.isSafeInteger(now) || now < 0) {
    throw new StoreError('malformed');
  }
  return now;
}

/** A decision by decide-one, at `at` of the reply. Throws StoreError for one that failed. */
export function readOne(reply: unknown[], at: number, charges: readonly Charge[]): Decision {
  const charge = charges[0]!;
  const allowed = readFlag(reply, at);
  const policy = readPolicy(reply, at + 1, charge, allowed);
  return decide([policy], charges, 'redis', reply[0] as number);
}

/** A decision by decide-all, at `at` of the reply. Throws StoreError for one that failed. */
export function readAll(reply: unknown[], at: number, charges: readonly Charge[]): Decision {
  const allowed = readFlag(reply, at);
  at++;
  const policies = new Array<PolicyDecision>(charges.length);
  for (let i = 0; i < charges.length; i++) {
    const charge = charges[i]!;
    policies[i] = readPolicy(reply, at + 1, charge, readFlag(reply, at));
    at += fieldsOfOne(charge);
  }
  const decision = decide(policies, charges, 'redis', reply[0] as number);
  if (decision.allowed !== allowed) throw new StoreError('malformed');
  return decision;
}

function readFlag(reply: unknown[], at: number): boolean {
  const flag = reply[at];
  if (flag === 1) return true;
  if (flag === 0) return false;
  throw typeof flag === 'string' ? StoreError.ofDecision(flag) : new StoreError('malformed');
}

function readPolicy(
  reply: unknown[],
  at: number,
  charge: Charge,
  allowed: boolean,
): PolicyDecision {
  let waits = false;
  for (let i = at; i < at + 3 * charge.plan.rules.length; i += 3) {
    const retryAfterMs = reply[i + 1];
    if (!isCount(reply[i]) || !isCount(reply[i + 2])) throw new StoreError('malformed');
    if (!isCount(retryAfterMs) && retryAfterMs !== NEVER) throw new StoreError('malformed');
    if (retryAfterMs !== 0) waits = true;
  }
  // Who is denied is told to wait, and nobody else.
  if (waits === allowed) throw new StoreError('malformed');
  return policyDecision(charge, allowed, reply as number[], at);
}

/** The integers of operation number `i` of an `operate` script, at least `least` of them. */
export function readResult(reply: unknown, i: number, least: number): number[] {
  readTime(reply);
  const result: unknown = (reply as unknown[])[1 + i];
  if (typeof result === 'string') throw StoreError.ofDecision(result);
  if (!Array.isArray(result) || result.length < least || !result.every(isCount)) {
    throw new StoreError('malformed');
  }
  return result;
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
