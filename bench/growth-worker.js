// One process of growth.js: told what to open, then to run, again and again.
import 'reflect-metadata';
import { once } from 'node:events';
import { GROWTH } from './cases.js';
import { open, run, subjects } from './closed-loop.js';

const [{ contestant, scenario, connection, library, millis }] = await once(process, 'message');
const servers = { connection, library: await import(library) };
const side = await open(
  GROWTH.contestants.find(({ id }) => id === contestant),
  scenario,
  servers,
  'growth',
);
const options = { callers: scenario.callers, millis, keys: subjects(scenario.keys) };
process.on('message', async () => process.send(await run(side, options)));
process.once('disconnect', () => side.close());
process.send('ready');
