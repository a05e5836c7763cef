import { isPromise } from 'node:util/types';
import { defer, isObservable, type Observable, tap } from 'rxjs';
import type { MethodOutcome } from './event-definition.js';

type Method = (this: unknown, ...args: unknown[]) => unknown;
type Tell = (outcome: MethodOutcome) => void;

/**
 * The method, watched: each call gives what it gave, result or error, and is told of once when it has
 * ended. `watch` gives the one to tell; undefined: nobody wants to know of this call.
 *
 * In the method's place at decoration, because Nest takes handlers from their class long before
 * anything of ours exists. Name, length, properties and metadata are the method's own.
 */
export function observeOutcome(
  method: Method,
  watch: (instance: unknown, args: unknown[]) => Tell | undefined,
): Method {
  const watched: Method = function (...args) {
    const tell = watch(this, args);
    return tell === undefined
      ? method.apply(this, args)
      : observe(() => method.apply(this, args), tell);
  };
  Object.defineProperties(watched, Object.getOwnPropertyDescriptors(method));
  for (const key of Reflect.getOwnMetadataKeys(method)) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), watched);
  }
  return watched;
}

function observe(call: () => unknown, tell: Tell): unknown {
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    tell({ error });
    throw error;
  }
  if (isPromise(result)) return observePromise(result, tell);
  if (isObservable(result)) return observeStream(result, tell);
  tell({ result });
  return result;
}

/** A promise of its own, so that a rejection that nobody handles stays one. */
function observePromise(promise: Promise<unknown>, tell: Tell): Promise<unknown> {
  return promise.then(
    (result) => {
      tell({ result });
      return result;
    },
    (error: unknown) => {
      tell({ error });
      throw error;
    },
  );
}

/** Each subscription is a call; its result is the last value. One that is given up has no outcome. */
function observeStream(stream: Observable<unknown>, tell: Tell): Observable<unknown> {
  return defer(() => {
    let result: unknown;
    return stream.pipe(
      tap({
        next: (value) => (result = value),
        error: (error: unknown) => tell({ error }),
        complete: () => tell({ result }),
      }),
    );
  });
}
