// The in-process store beside its peers, in one run: npm run bench:memory
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { ThrottlerStorageService } from '@nestjs/throttler';
import { MemoryStore } from 'express-rate-limit';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { RateLimiterService, SlidingWindowModule } from '../dist/index.js';
import { machine, race, table } from './measure.js';

const OURS = 'nestjs-sliding-window';
const MINUTE = 60_000;

/** Contestants that take one unit of key number n, of a limit in a minute. */
async function contestants(limit) {
  const app = await NestFactory.createApplicationContext(
    SlidingWindowModule.forRoot({ memory: { maxKeys: 1_000_000 } }),
    { logger: false },
  );
  const ours = app.get(RateLimiterService);
  const rules = Math.min(limit, 100_000);
  const log = { name: 'log', rules: [{ limit: rules, window: MINUTE }] };
  const fixed = { name: 'fixed', rules: [{ algorithm: 'fixed-window', limit, window: MINUTE }] };
  const flexible = new RateLimiterMemory({ points: limit, duration: 60 });
  const express = new MemoryStore();
  express.init({ windowMs: MINUTE });
  const throttler = new ThrottlerStorageService();
  return {
    list: [
      { name: `${OURS}, sliding-log`, call: (n, key) => ours.consume(log, key) },
      { name: `${OURS}, fixed-window`, call: (n, key) => ours.consume(fixed, key) },
      { name: 'rate-limiter-flexible', call: (n, key) => flexible.consume(key).catch(() => 0) },
      { name: 'express-rate-limit', call: (n, key) => express.increment(key) },
      {
        name: '@nestjs/throttler',
        call: (n, key) => throttler.increment(key, MINUTE, limit, MINUTE, 'default'),
      },
    ],
    async close() {
      await app.close();
      express.shutdown();
      throttler.onApplicationShutdown();
    },
  };
}

async function compare(title, keys, limit, options) {
  const names = Array.from({ length: keys }, (_, i) => `198.51.100.${i}`);
  const { list, close } = await contestants(limit);
  const rows = await race(
    list.map(({ name, call }) => ({ name, call: (n) => call(n, names[n % keys]) })),
    options,
  );
  console.log(table(title, rows, 'rate-limiter-flexible'));
  await close();
}

/** Microseconds of a call when a key has so many hits already. */
async function byHits(hits) {
  const { list, close } = await contestants(1_000_000);
  const result = [];
  for (const { name, call } of list) {
    // A store that is slow with many hits is not waited for.
    const end = performance.now() + 5000;
    let filled = 0;
    for (; filled < hits && performance.now() < end; filled++) await call(filled, 'one');
    const start = performance.now();
    const calls = filled < hits ? 20 : 2000;
    for (let n = 0; n < calls; n++) await call(n, 'one');
    const micros = ((performance.now() - start) * 1000) / calls;
    result.push(`${name} ${micros.toFixed(1)}${filled < hits ? ` (only ${filled} hits)` : ''}`);
  }
  await close();
  return result;
}

console.log(machine());
const brief = process.argv.includes('--brief');
const options = brief ? { rounds: 1, millis: 30 } : {};
await compare('admitted, 1 000 keys', 1_000, 90_000, options);
await compare('admitted, 200 000 keys', 200_000, 90_000, options);
await compare('denied, 1 000 keys', 1_000, 1, options);
await compare('denied, 200 000 keys', 200_000, 1, { batch: 200_000, ...options });
console.log('\nmicroseconds of a call on a key that has so many hits');
for (const hits of brief ? [10, 1000] : [10, 1000, 10_000, 100_000]) {
  console.log(`  ${String(hits).padStart(7)}  ${(await byHits(hits)).join('  |  ')}`);
}
