import { configError } from '../errors.js';
import { counterOf } from './counted-instances.js';
import type { CountEventOptions } from './event-definition.js';
import { observeOutcome } from './observe-outcome.js';

/** What one decorator says, as written. */
export interface EventDeclaration {
  readonly name: unknown;
  readonly options: unknown;
  /** Class and method, for messages. */
  readonly path: string;
}

/** By prototype, not on the method: decorators above may put another function in its place. */
const declarations = new WeakMap<object, EventDeclaration[]>();

/**
 * Counts calls of a handler or of a provider's method, and raises an alert when a window holds enough:
 * those that throw, those that return, or those that a function chooses. The caller gets what the
 * method gave, and does not wait for the count.
 *
 * The key `name:key` of `SlidingWindowService` is the same counter. Wrong options fail when the
 * application starts, naming class and method.
 *
 * @example
 * @CountEvent('login-failed', { by: (body: LoginDto) => body.email, window: '5m', threshold: 5, clear: true })
 * @CountEvent('export', { by: (user: User) => user.id, window: '1h', threshold: [10, 100], keep: true, cooldown: '1h', when: 'returns' })
 */
export function CountEvent(name: string, options: CountEventOptions): MethodDecorator {
  return (target: object, key: string | symbol, descriptor?: PropertyDescriptor) => {
    const isStatic = typeof target === 'function';
    const owner = isStatic ? (target as { name: string }) : target.constructor;
    const path = `${owner.name}.${String(key)} @CountEvent`;
    const method: unknown = descriptor?.value;
    if (typeof method !== 'function' || isStatic) {
      throw configError.badValue(path, isStatic ? 'static' : method, 'a method of instances');
    }
    const declaration: EventDeclaration = { name, options, path };
    declarations.set(target, [declaration, ...(declarations.get(target) ?? [])]);
    descriptor!.value = observeOutcome(method as never, (instance, args) => {
      const counter = counterOf(instance);
      return counter && ((outcome) => counter.ended(declaration, args, outcome));
    }) as never;
  };
}

/** Of a class and those that it extends, the overridden ones with them: `super` may call those. */
export function eventsOf(prototype: object | null): EventDeclaration[] {
  if (prototype === null) return [];
  return [
    ...(declarations.get(prototype) ?? []),
    ...eventsOf(Object.getPrototypeOf(prototype) as object | null),
  ];
}
