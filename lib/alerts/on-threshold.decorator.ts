import { configError } from '../errors.js';
import type { Duration } from '../rules/duration.js';

/** What a listener is told. */
export interface ThresholdAlert {
  /** Of the event. */
  readonly name: string;
  /** Whom it was counted for: what `by` gave, or `''` where that gave nothing. */
  readonly key: string;
  /** Events that the window held with the one that raised the alert. */
  readonly count: number;
  /** As written in `@CountEvent`. */
  readonly window: Duration;
  /** The one that was reached. */
  readonly threshold: number;
  /** When the event happened, by this process: milliseconds since the epoch. */
  readonly at: number;
}

/** A method that is to be told. */
export interface ListenerDeclaration {
  readonly name: unknown;
  readonly key: string | symbol;
  /** Class and method, for messages. */
  readonly path: string;
}

const declarations = new WeakMap<object, ListenerDeclaration[]>();

/**
 * Calls the method when a threshold of the event is reached: in the one process that counted the event
 * which reached it. What it throws, or rejects with, is logged.
 *
 * @example
 * @OnThreshold('login-failed')
 * async warn({ key, count, window }: ThresholdAlert) {
 *   await this.mails.send(key, `${count} failed logins within ${window}`);
 * }
 */
export function OnThreshold(
  name: string,
): (
  target: object,
  key: string | symbol,
  descriptor: { value?: (alert: ThresholdAlert) => unknown },
) => void {
  return (target, key, descriptor) => {
    const isStatic = typeof target === 'function';
    const owner = isStatic ? (target as { name: string }) : target.constructor;
    const path = `${owner.name}.${String(key)} @OnThreshold`;
    if (typeof descriptor?.value !== 'function' || isStatic) {
      throw configError.badValue(path, isStatic ? 'static' : undefined, 'a method of instances');
    }
    declarations.set(target, [{ name, key, path }, ...(declarations.get(target) ?? [])]);
  };
}

/** Of a class and those that it extends; a method that overrides a listener is one. */
export function listenersOf(prototype: object | null): ListenerDeclaration[] {
  if (prototype === null) return [];
  const own = declarations.get(prototype) ?? [];
  const inherited = listenersOf(Object.getPrototypeOf(prototype) as object | null);
  const isOwn = (one: ListenerDeclaration) =>
    own.some(({ name, key }) => name === one.name && key === one.key);
  return [...own, ...inherited.filter((one) => !isOwn(one))];
}
