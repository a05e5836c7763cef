import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setImmediate } from 'node:timers';
import { ask, open, subjects } from './closed-loop.js';
import { spread } from './measure.js';

/** The finest that the runtime measures; what a timer of that length takes longer is the delay. */
const RESOLUTION_MS = 1;

/**
 * Requests that arrive at random (exponential gaps) at a fixed rate, answered or not. Each is timed
 * from the instant at which it was due, so a stall counts for all that came due in it.
 */
function arrive(side, { rate, millis, keys }) {
  const latencies = [];
  const start = performance.now();
  const end = start + millis;
  let due = start;
  let pending = 0;
  let n = 0;
  return new Promise((resolve, reject) => {
    const one = async (at, key) => {
      pending++;
      await ask(side, key);
      latencies.push(performance.now() - at);
      pending--;
    };
    const turn = () => {
      for (const now = performance.now(); due <= now && due < end; n++) {
        one(due, keys[n % keys.length]).catch(reject);
        due -= (Math.log(1 - Math.random()) * 1000) / rate;
      }
      if (due >= end && pending === 0) resolve(latencies);
      else setImmediate(turn);
    };
    turn();
  });
}

function percentile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

async function measured(side, options) {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  const start = performance.now();
  const latencies = await arrive(side, options);
  const elapsed = performance.now() - start;
  delay.disable();
  const sorted = latencies.sort((a, b) => a - b);
  return {
    perSecond: (sorted.length / elapsed) * 1000,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    loopDelayP99Ms: Math.max(0, delay.percentile(99) / 1e6 - RESOLUTION_MS),
  };
}

const FIGURES = ['perSecond', 'p50Ms', 'p99Ms', 'loopDelayP99Ms'];

/** All contestants in interleaved rounds; the first is not counted. */
export async function openLoop(scenario, contestants, servers, { rounds, millis }) {
  const keys = subjects(scenario.keys);
  const sides = [];
  for (const [i, contestant] of contestants.entries()) {
    sides.push(await open(contestant, scenario, servers, `${scenario.id}-${i}`));
  }
  const results = sides.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, side] of sides.entries()) {
      const result = await measured(side, { rate: scenario.rate, millis, keys });
      if (round > 0) results[i].push(result);
    }
  }
  for (const side of sides) await side.close();
  await Promise.all(servers.admins.map((admin) => admin.flushall()));
  return sides.map(({ contestant: { id, name } }, i) => {
    const figures = FIGURES.map((figure) => [figure, spread(results[i].map((one) => one[figure]))]);
    return { id, name, ...Object.fromEntries(figures) };
  });
}
