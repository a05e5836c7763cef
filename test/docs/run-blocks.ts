// Runs the examples of the documentation, one after the other, and prints what each threw.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Module } from '@nestjs/common';
import { RateLimiterService, SlidingWindowModule, SlidingWindowService } from '../../lib/index.js';

@Module({ imports: [SlidingWindowModule.forRoot()] })
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false });
// What a block without imports of its own may use.
Object.assign(globalThis, {
  limiter: app.get(RateLimiterService),
  windows: app.get(SlidingWindowService),
});
const failures: Record<string, string> = {};
for (const file of process.argv.slice(2)) {
  try {
    await import(file);
  } catch (error) {
    failures[file] = error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
}
await app.close();
process.stdout.write(`\n${JSON.stringify(failures)}\n`, () => process.exit(0));
