// Redis, side by side with its peers, in one run: npm run bench
// With --short it is only seen to run. Options: see bench/README.md.
import 'reflect-metadata';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { CLOSED, CLUSTER, GROWTH, OPEN } from './cases.js';
import { closedLoop, open } from './closed-loop.js';
import { growth } from './growth.js';
import { memoryUsage } from './memory-usage.js';
import { openLoop } from './open-loop.js';
import { internalsOf } from './peers/ours.js';
import { writePlots } from './plot.js';
import { caseTable, targetTable } from './report.js';
import { startCluster, startStandalone } from './servers.js';
import { targets } from './targets.js';

const ROOT = new URL('../', import.meta.url);

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string' },
    out: { type: 'string' },
    library: { type: 'string', default: fileURLToPath(new URL('dist/index.js', ROOT)) },
  },
});

const LENGTHS = {
  full: {
    ...{ rounds: 5, millis: 400, openRounds: 4, openMillis: 800 },
    ...{ mostKeys: Infinity, entries: [10, 100, 1000, 10_000], processes: [1, 2, 4, 8] },
  },
  short: {
    ...{ rounds: 1, millis: 20, openRounds: 1, openMillis: 20 },
    ...{ mostKeys: 1000, entries: [10, 1000], processes: [1, 2] },
  },
};
const length = options.short ? LENGTHS.short : LENGTHS.full;
const wanted = ({ id }) => options.only === undefined || options.only.split(',').includes(id);

const libraryUrl = pathToFileURL(resolve(options.library));
const build = { library: await import(libraryUrl.href), internals: await internalsOf(libraryUrl) };

const version = (name) =>
  JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, ROOT), 'utf8')).version;

const PACKAGES = [
  'ioredis',
  'rate-limiter-flexible',
  '@nestjs/throttler',
  '@nest-lab/throttler-storage-redis',
  'rate-limit-redis',
  '@nestjs/core',
];

async function environment([admin]) {
  const [, redis] = /redis_version:(\S+)/.exec(await admin.info('server'));
  return {
    takenAt: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0].model.trim(),
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    platform: process.platform,
    node: process.version,
    redis,
    packages: Object.fromEntries(PACKAGES.map((name) => [name, version(name)])),
  };
}

/** A contestant whose option the library does not know is left out, and said so. */
async function available(contestants, scenario, servers) {
  const present = [];
  for (const contestant of contestants) {
    if (contestant.optional && !(await accepts(contestant, scenario, servers))) {
      console.log(`\nnot measured: ${contestant.name}: the library does not know the option`);
    } else present.push(contestant);
  }
  return present;
}

async function accepts(contestant, scenario, servers) {
  const side = await open(contestant, scenario, servers, 'probe');
  try {
    await side.call('probe');
    return true;
  } catch (error) {
    if (error.code === 'SW_UNKNOWN_OPTION') return false;
    throw error;
  } finally {
    await side.close();
  }
}

const results = { environment: undefined, length, cases: {}, open: [], bytes: [], growth: [] };

async function closed(scenarios, servers) {
  for (const written of scenarios.filter(wanted)) {
    const scenario = { ...written, keys: Math.min(written.keys, length.mostKeys) };
    const contestants = await available(scenario.contestants, scenario, servers);
    if (scenario.id === 'lease' && contestants.length < 2) continue;
    const rows = await closedLoop(scenario, contestants, servers, length);
    const { title, outcome, callers, keys, rules, group } = scenario;
    results.cases[scenario.id] = { title, group, outcome, callers, keys, rules, rows };
    console.log(`\n${caseTable(results.cases[scenario.id])}`);
  }
}

async function standalone() {
  const servers = { ...(await startStandalone()), ...build };
  results.environment = await environment(servers.admins);
  await Promise.all(servers.admins.map((admin) => admin.flushall()));
  await closed(CLOSED, servers);
  for (const scenario of OPEN.filter(wanted)) {
    const { contestants, rate, title, callers: _, ...rest } = scenario;
    const timing = { rounds: length.openRounds, millis: length.openMillis };
    const rows = await openLoop({ ...rest, rate }, contestants, servers, timing);
    results.open.push({ rate, title, rows });
    console.log(`\n${caseTable(results.open.at(-1))}`);
  }
  for (const processes of wanted({ id: 'growth' }) ? length.processes : []) {
    const rows = [];
    for (const contestant of GROWTH.contestants) {
      const timing = { rounds: Math.min(3, length.rounds), millis: length.millis };
      const more = { ...timing, library: libraryUrl.href };
      rows.push(await growth(processes, contestant, GROWTH.scenario, servers, more));
    }
    results.growth.push({ processes, rows });
    console.log(`\n${caseTable({ title: `${processes} processes, 32 callers each`, rows })}`);
  }
  for (const entries of wanted({ id: 'bytes' }) ? length.entries : []) {
    const rows = await memoryUsage(entries, servers);
    results.bytes.push({ entries, rows });
    console.log(`\n${caseTable({ title: `bytes of a subject with ${entries} hits`, rows })}`);
  }
  await servers.stop();
}

async function clusters() {
  for (const scenario of CLUSTER.filter(wanted)) {
    const servers = { ...(await startCluster(scenario.masters)), ...build };
    await closed([scenario], servers);
    await servers.stop();
  }
}

/** A run of everything is kept; a part of it, or a short one, only where it is told to. */
async function write() {
  const complete = options.only === undefined;
  const kept = fileURLToPath(new URL('results', import.meta.url));
  const folder = options.out ?? (complete && !options.short ? kept : undefined);
  if (complete) results.targets = targets(results);
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}/redis.json`, JSON.stringify(results, undefined, 1) + '\n');
  if (complete) await writePlots(results, folder);
}

const start = performance.now();
await standalone();
await clusters();
await write();
if (results.targets) console.log(`\n${targetTable(results.targets)}`);
console.log(`\n${Math.round((performance.now() - start) / 1000)} s`);
