import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { build, type Build } from '../support/build.js';
import type { Job, Report } from './hammer.js';

const PROGRAM = 'test/hammer/hammer.ts';

/** Applications of their own, each in its process, that do what they are told at the same time. */
export class Processes {
  private constructor(
    private readonly compiled: Build,
    private readonly children: readonly ChildProcess[],
  ) {}

  /** They share the Redis at `url`, and the keys. */
  static async start(count: number, url: string): Promise<Processes> {
    const compiled = build(PROGRAM);
    const children = Array.from({ length: count }, () =>
      fork(compiled.fileOf(PROGRAM), [url, 'hammer'], {
        // Not Jest's own flags.
        execArgv: [],
      }),
    );
    await Promise.all(children.map((child) => once(child, 'message')));
    return new Processes(compiled, children);
  }

  /** All at once; what they saw together. */
  async hammer(job: Job): Promise<Report> {
    const reports = await Promise.all(
      this.children.map(async (child) => {
        child.send(job);
        const [report] = (await once(child, 'message')) as [Report];
        return report;
      }),
    );
    return {
      admitted: reports.flatMap(({ admitted }) => admitted),
      denied: reports.reduce((sum, { denied }) => sum + denied, 0),
      counts: reports.flatMap(({ counts }) => counts),
      errors: reports.flatMap(({ errors }) => errors),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(
      this.children.map(async (child) => {
        if (child.exitCode !== null) return;
        child.disconnect();
        await once(child, 'exit');
      }),
    );
    this.compiled.remove();
  }
}

/** count - 1, count - 2 … 0: what `remaining` says when each unit is admitted once. */
export function descending(count: number): number[] {
  return Array.from({ length: count }, (_, i) => count - 1 - i);
}
