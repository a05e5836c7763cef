const calls = new WeakMap<object, Map<unknown, object>>();

/** Tells a handler's calls apart by their message, which may go to several handlers. */
export function callOf(message: object, handler: unknown): object {
  let handlers = calls.get(message);
  if (handlers === undefined) {
    handlers = new Map();
    calls.set(message, handlers);
  }
  let call = handlers.get(handler);
  if (call === undefined) {
    call = {};
    handlers.set(handler, call);
  }
  return call;
}

/** Objects live as long as the message that holds them; a primitive names nothing. */
export function firstObject(...candidates: unknown[]): object | undefined {
  return candidates.find(
    (one): one is object => (typeof one === 'object' && one !== null) || typeof one === 'function',
  );
}
