import type { EventDeclaration } from './count-event.decorator.js';
import type { MethodOutcome } from './event-definition.js';

/** Is told how calls of counted methods have ended. Never throws. */
export interface OutcomeCounter {
  ended(declaration: EventDeclaration, args: unknown[], outcome: MethodOutcome): void;
}

/** An application's own, so that several in one process do not count for each other. */
const byInstance = new WeakMap<object, OutcomeCounter>();
/** For instances that are made per request or per place of use, and known to nobody. */
const byClass = new WeakMap<object, OutcomeCounter>();

export function countInstance(instance: object, counter: OutcomeCounter): void {
  byInstance.set(instance, counter);
}

export function countClass(type: object, counter: OutcomeCounter): void {
  byClass.set(type, counter);
}

/** undefined before the application has started, and for what it has not made. */
export function counterOf(instance: unknown): OutcomeCounter | undefined {
  if (typeof instance !== 'object' || instance === null) return undefined;
  return byInstance.get(instance) ?? byClass.get(instance.constructor);
}
