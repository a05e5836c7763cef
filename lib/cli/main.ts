#!/usr/bin/env node
import { Command } from 'commander';
import { readFileSync } from 'node:fs';
import { simulateCommand } from './simulate.command.js';

const manifest = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string };

// Whoever reads may have seen enough, as `head` does.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

await new Command('nestjs-sliding-window')
  .description('Rate limits and sliding-window counters for NestJS')
  .version(manifest.version)
  .addCommand(simulateCommand())
  .parseAsync();
