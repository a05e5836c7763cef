import { SingleBar } from 'cli-progress';

/** What is read so far, on standard error if that is a terminal; nothing otherwise. */
export class Progress {
  private readonly bar: SingleBar;
  private bytes = 0;

  /** @param total Bytes to read; undefined: nobody knows, and the lines are counted instead. */
  constructor(private readonly total: number | undefined) {
    const format =
      total === undefined ? '{lines} lines' : '[{bar}] {percentage} % | {lines} lines | {eta} s';
    this.bar = new SingleBar({
      format,
      stream: process.stderr,
      clearOnComplete: true,
      linewrap: true,
    });
    this.bar.start(total ?? 0, 0, { lines: 0 });
  }

  add(bytes: number, lines: number): void {
    this.bytes += bytes;
    this.bar.update(this.total === undefined ? 0 : this.bytes, { lines });
  }

  stop(): void {
    this.bar.stop();
  }
}
