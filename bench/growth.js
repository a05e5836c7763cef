import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { spread } from './measure.js';
import { serverMicros } from './servers.js';

const WORKER = fileURLToPath(new URL('growth-worker.js', import.meta.url));

async function start(request) {
  const child = fork(WORKER);
  child.send(request);
  await answer(child);
  return child;
}

/** What a worker says next; its end is no answer. */
async function answer(child) {
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`a worker has ended with code ${code}`);
    }),
  ]);
  return message;
}

async function round(workers, servers, statistics) {
  const before = await serverMicros(servers.admins, statistics);
  const results = await Promise.all(
    workers.map((worker) => {
      worker.send('run');
      return answer(worker);
    }),
  );
  const after = await serverMicros(servers.admins, statistics);
  const calls = results.reduce((all, one) => all + one.calls, 0);
  const client = results.reduce((all, one) => all + one.clientMicros * one.calls, 0);
  return {
    perSecond: results.reduce((all, one) => all + one.perSecond, 0),
    clientMicros: client / calls,
    redisMicros: (after.redis - before.redis) / calls,
    scriptMicros: (after.script - before.script) / calls,
  };
}

const FIGURES = ['perSecond', 'clientMicros', 'redisMicros', 'scriptMicros'];

/** One contestant in `processes` processes that share the server. */
export async function growth(
  processes,
  contestant,
  scenario,
  servers,
  { rounds, millis, library },
) {
  const { connection } = servers;
  const request = { contestant: contestant.id, scenario, connection, library, millis };
  const workers = await Promise.all(Array.from({ length: processes }, () => start(request)));
  try {
    const results = [];
    for (let i = 0; i <= rounds; i++) {
      const result = await round(workers, servers, contestant.statistics ?? 'script');
      if (i > 0) results.push(result);
    }
    const figures = FIGURES.map((figure) => [figure, spread(results.map((one) => one[figure]))]);
    return { id: contestant.id, name: contestant.name, ...Object.fromEntries(figures) };
  } finally {
    for (const worker of workers) worker.disconnect();
    await Promise.all(servers.admins.map((admin) => admin.flushall()));
  }
}
