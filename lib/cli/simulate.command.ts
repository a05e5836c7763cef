import { Command, InvalidArgumentError, Option } from 'commander';
import { writeFileSync } from 'node:fs';
import { configError, RateLimitConfigError } from '../errors.js';
import { parseCandidate } from '../simulator/candidate.js';
import { LOG_FORMATS, type LogFormat, lineParser } from '../simulator/log-format.js';
import { sizeOf } from '../simulator/log-source.js';
import { parseTime } from '../simulator/log-time.js';
import { simulate } from '../simulator/simulate.js';
import { SimulateError } from '../simulator/simulate-error.js';
import { svgOf } from '../simulator/svg.js';
import { Progress } from './progress.js';
import { tableOf } from './table.js';

interface Options {
  readonly rule: readonly string[];
  readonly by: string;
  readonly format: LogFormat;
  readonly timeField?: string;
  readonly ipv6Prefix: number;
  readonly from?: string;
  readonly to?: string;
  readonly top: number;
  readonly json?: true;
  readonly svg?: string;
}

const RULES = `
Rules:
  100/1m                      100 in any minute (sliding-log)
  fixed-window:100/1m         100 per minute of the clock
  sliding-counter:100/1m/60   100 in any minute, counted in 60 slices
  token-bucket:20+5/1s        20 at once, 5 come back per second
  10/1s,100/1m                several rules as one candidate: all have to admit

Fields for --by, in the common and combined formats: ip, host, user, path, agent (combined only).
In JSON lines: any, with dots into nested objects. In all: global, everybody together.
Several separated by commas: the first that a line has.

Example:
  nestjs-sliding-window simulate --rule 100/1m --rule token-bucket:20+5/1s --by ip access.log`;

export function simulateCommand(): Command {
  const command = new Command('simulate')
    .description('Replay logs through candidate rules: who would have been denied, and when')
    .argument('<log...>', 'files, plain or packed by gzip, read in this order; - is standard input')
    .requiredOption('-r, --rule <rule>', 'a candidate; repeat it to compare several', collect)
    .option('-b, --by <field>', 'whom a rule counts', 'ip')
    .addOption(
      new Option('-f, --format <format>', 'of the lines').choices(LOG_FORMATS).default('auto'),
    )
    .option('--time-field <field>', 'of JSON lines (default: time, timestamp, @timestamp or ts)')
    .option('--ipv6-prefix <bits>', 'IPv6 addresses are counted by this prefix', integer, 56)
    .option('--from <time>', 'skip what is before')
    .option('--to <time>', 'skip what is at this time or after')
    .option('--top <count>', 'how many subjects to name per candidate', integer, 5)
    .option('--json', 'print the report as JSON')
    .option('--svg <file>', 'write a plot of the denials over time')
    .addHelpText('after', RULES);
  return command.action(async (files: string[], options: Options) => {
    try {
      await run(files, options);
    } catch (error) {
      if (error instanceof RateLimitConfigError || error instanceof SimulateError) {
        command.error(`error: ${error.message}`);
      }
      throw error;
    }
  });
}

async function run(files: readonly string[], options: Options): Promise<void> {
  const candidates = options.rule.map(parseCandidate);
  const parse = lineParser({ ...options, timeField: options.timeField });
  const [fromAt, toAt] = [instant('--from', options.from), instant('--to', options.to)];
  const progress = new Progress(await sizeOf(files));
  try {
    const report = await simulate({
      candidates,
      files,
      parse,
      fromAt: fromAt ?? 0,
      toAt: toAt ?? Infinity,
      top: options.top,
      onProgress: (bytes, lines) => progress.add(bytes, lines),
    });
    progress.stop();
    process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : tableOf(report));
    if (options.svg !== undefined) write(options.svg, svgOf(report));
  } finally {
    progress.stop();
  }
}

function collect(value: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, value];
}

function integer(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('Use a whole number.');
  return Number(text);
}

function instant(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text;
  const at = parseTime(day);
  if (at === undefined) {
    throw configError.badValue(option, text, 'a day or a time like 2026-01-31T12:00:00Z');
  }
  return at;
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (cause) {
    throw SimulateError.unwritable(file, cause);
  }
}
