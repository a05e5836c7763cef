import { checkInteger, checkKeys, configError } from '../errors.js';
import { type Duration, parseDuration } from '../rules/duration.js';

/** How a call of a method ended: one of the two keys is there. */
export type MethodOutcome =
  | { readonly error: unknown; readonly result?: never }
  | { readonly result: unknown; readonly error?: never };

interface CountedEvent {
  /**
   * Whom the event is counted for, from the method's arguments. What is neither a text nor a number,
   * or throws, is counted under the one key `''`, so that no event escapes.
   */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- the arguments of any method
  by: (...args: any[]) => string | undefined;
  window: Duration;
  /** Events within the window that raise the alert; several raise one each. */
  threshold: number | readonly number[];
  /** Which calls are events. @default 'throws' */
  when?: 'throws' | 'returns' | ((outcome: MethodOutcome) => boolean);
}

/** Forgets the key's events at the threshold, the highest of several. */
export interface ClearingEvent extends CountedEvent {
  clear: true;
  keep?: never;
  cooldown?: never;
}

/** Keeps the events; while there are enough, tells once per cooldown and threshold. */
export interface KeepingEvent extends CountedEvent {
  keep: true;
  cooldown: Duration;
  clear?: never;
}

/** What `@CountEvent` takes. */
export type CountEventOptions = ClearingEvent | KeepingEvent;

/** An event whose options are checked. */
export interface EventDefinition {
  readonly name: string;
  readonly by: (...args: unknown[]) => unknown;
  readonly isEvent: (outcome: MethodOutcome) => boolean;
  /** As written, for the listeners. */
  readonly window: Duration;
  readonly windowMs: number;
  /** Ascending. */
  readonly thresholds: readonly number[];
  /** 0: the events are cleared at the highest threshold. */
  readonly cooldownMs: number;
  /** Class and method. */
  readonly path: string;
}

const KEYS = ['by', 'window', 'threshold', 'clear', 'keep', 'cooldown', 'when'];
const MOST_THRESHOLDS = 16;
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;

/** Throws RateLimitConfigError that names `path`. */
export function checkEventName(name: unknown, path: string): string {
  if (typeof name === 'string' && NAME.test(name)) return name;
  throw configError.badValue(`${path} name`, name, '1 to 64 of A-Z a-z 0-9 _ . -');
}

/** Throws RateLimitConfigError that names `path`, which is class and method. */
export function parseEvent(name: unknown, options: unknown, path: string): EventDefinition {
  const { by, window, threshold, when, ...mode } = checkKeys(options, KEYS, `${path} options`);
  if (typeof by !== 'function') {
    throw configError.badValue(`${path} by`, by, `a function of the method's arguments`);
  }
  return {
    name: checkEventName(name, path),
    by: by as EventDefinition['by'],
    isEvent: parseWhen(when, `${path} when`),
    windowMs: parseDuration(window, `${path} window`),
    window: window as Duration,
    thresholds: parseThresholds(threshold, `${path} threshold`),
    cooldownMs: parseMode(mode, path),
    path,
  };
}

/** Methods that count one event share its counter, so they must agree on all but whom and when. */
export function sameCounter(a: EventDefinition, b: EventDefinition): boolean {
  return (
    a.windowMs === b.windowMs &&
    a.cooldownMs === b.cooldownMs &&
    a.thresholds.join() === b.thresholds.join()
  );
}

function parseWhen(when: unknown, path: string): EventDefinition['isEvent'] {
  if (when === undefined || when === 'throws') return (outcome) => 'error' in outcome;
  if (when === 'returns') return (outcome) => 'result' in outcome;
  if (typeof when === 'function') return when as EventDefinition['isEvent'];
  throw configError.badValue(path, when, `'throws', 'returns', or a function of the outcome`);
}

function parseThresholds(threshold: unknown, path: string): readonly number[] {
  if (!Array.isArray(threshold)) return [checkInteger(threshold, path, 1)];
  if (threshold.length === 0 || threshold.length > MOST_THRESHOLDS) {
    throw configError.badValue(path, threshold, `one integer, or 1 to ${MOST_THRESHOLDS} of them`);
  }
  const numbers = Array.from(threshold, (one, i) => checkInteger(one, `${path}[${i}]`, 1));
  const twice = numbers.find((one, i) => numbers.indexOf(one) < i);
  if (twice !== undefined) throw configError.badValue(path, twice, 'each threshold once');
  return numbers.sort((a, b) => a - b);
}

/** The cooldown in milliseconds; 0: clear. */
function parseMode({ clear, keep, cooldown }: Record<string, unknown>, path: string): number {
  for (const [option, value] of Object.entries({ clear, keep })) {
    if (value === undefined || value === true) continue;
    throw configError.badValue(`${path} ${option}`, value, 'true, or leave it out');
  }
  if (clear === keep) {
    const what = clear === true ? 'clear and keep' : 'neither clear nor keep';
    throw configError.badValue(
      `${path} options`,
      what,
      'clear: true, or keep: true and a cooldown',
    );
  }
  if (keep === true) return parseDuration(cooldown, `${path} cooldown`);
  if (cooldown === undefined) return 0;
  throw configError.badValue(`${path} cooldown`, cooldown, 'it with keep: true alone');
}
