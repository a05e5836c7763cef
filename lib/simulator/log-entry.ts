/** What one line of a log says: who asked, and when. */
export interface LogEntry {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly subject: string;
}

/** The entry of a line, or a text: why there is none. */
export type LineParser = (line: string) => LogEntry | string;

/** Counts everybody together. */
export const GLOBAL = 'global';
