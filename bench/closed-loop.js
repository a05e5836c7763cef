import { setImmediate as turn } from 'node:timers/promises';
import { spread } from './measure.js';
import { connect, serverMicros } from './servers.js';

/** How often callers look at the clock: a call that never leaves the process takes less than that. */
const CALLS_PER_LOOK = 32;

/** Names of subjects: addresses, as most limits count them. */
export function subjects(count) {
  return Array.from({ length: count }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`);
}

/** A contestant with a connection of its own. */
export async function open(contestant, scenario, { connection, library, internals }, prefix) {
  const client = await connect(connection);
  const opened = await contestant.open({ client, library, internals, prefix }, scenario);
  return {
    ...opened,
    contestant,
    client,
    async close() {
      await opened.close();
      client.disconnect();
    },
  };
}

/** Asks once; true: admitted. A rejection that is no error is how some tell a denial. */
export async function ask({ call, admitted }, key) {
  try {
    return admitted(await call(key));
  } catch (denial) {
    if (denial instanceof Error) throw denial;
    return false;
  }
}

async function caller(side, round) {
  const { call, admitted } = side;
  const { keys } = round;
  while (!round.stop) {
    const n = round.calls++;
    if (n % CALLS_PER_LOOK === 0 && n >= round.atLeast && performance.now() > round.end) {
      round.stop = true;
    }
    try {
      if (admitted(await call(keys[n % keys.length]))) round.admitted++;
    } catch (denial) {
      if (denial instanceof Error) throw denial;
    }
  }
}

/** One round: `callers` ask again as soon as they are answered. */
export async function run(side, { callers, millis, keys, atLeast = 0 }) {
  const start = performance.now();
  const round = { keys, end: start + millis, atLeast, calls: 0, admitted: 0, stop: false };
  const before = process.cpuUsage();
  await Promise.all(Array.from({ length: callers }, () => caller(side, round)));
  const { user, system } = process.cpuUsage(before);
  return {
    calls: round.calls,
    admitted: round.admitted / round.calls,
    perSecond: (round.calls / (performance.now() - start)) * 1000,
    clientMicros: (user + system) / round.calls,
  };
}

async function measured(side, options, admins) {
  const { statistics = 'script' } = side.contestant;
  const before = await serverMicros(admins, statistics);
  const result = await run(side, options);
  const after = await serverMicros(admins, statistics);
  return {
    ...result,
    redisMicros: (after.redis - before.redis) / result.calls,
    scriptMicros: (after.script - before.script) / result.calls,
  };
}

/** A case that is named after what it does must do it. */
function checkOutcome({ id, outcome }, contestant, admitted) {
  if (outcome === undefined || admitted === (outcome === 'admitted' ? 1 : 0)) return;
  const share = `${(100 * admitted).toFixed(1)} % admitted`;
  throw new Error(`case ${id}: ${contestant.name} has ${share}, expected all to be ${outcome}`);
}

/** All contestants of a case in interleaved rounds, after a round each that is not counted. */
export async function closedLoop(scenario, contestants, servers, { rounds, millis }) {
  const keys = subjects(scenario.keys);
  const sides = [];
  for (const [i, contestant] of contestants.entries()) {
    sides.push(await open(contestant, scenario, servers, `${scenario.id}-${i}`));
  }
  const options = { callers: scenario.callers, millis, keys };
  // What is to be denied has used up its limit before, and every key exists.
  const atLeast = scenario.outcome === 'denied' ? scenario.keys * (scenario.used + 1) : keys.length;
  for (const side of sides) await run(side, { ...options, atLeast });
  const results = sides.map(() => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, side] of sides.entries()) {
      const result = await measured(side, options, servers.admins);
      checkOutcome(scenario, side.contestant, result.admitted);
      results[i].push(result);
      await turn();
    }
  }
  for (const side of sides) await side.close();
  await Promise.all(servers.admins.map((admin) => admin.flushall()));
  return sides.map(({ contestant: { id, name } }, i) => ({ id, name, ...summary(results[i]) }));
}

const FIGURES = ['perSecond', 'clientMicros', 'redisMicros', 'scriptMicros'];

function summary(rounds) {
  return Object.fromEntries(
    FIGURES.map((figure) => [figure, spread(rounds.map((round) => round[figure]))]),
  );
}
