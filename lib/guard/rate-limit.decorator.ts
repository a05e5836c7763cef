import { createParamDecorator, type ExecutionContext, UseGuards } from '@nestjs/common';
import type { Decision } from '../decision.js';
import type { LimitTypeInput, RateLimitOptions, RulesInput } from './policy-options.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import { decisionOf } from './request-state.js';

const RATE_LIMIT = 'nestjs-sliding-window:rate-limit';
const SKIP = 'nestjs-sliding-window:skip';

/** What one decorator says: the name of a policy of the module, or a policy of its own. */
export type Declaration =
  | { readonly policy: unknown }
  | { readonly type: unknown; readonly rules: unknown; readonly options: unknown };

/**
 * Limits a handler, or every handler of a controller. Several decorators on one target apply
 * together, as one decision; a handler's own replace its controller's.
 *
 * Wrong arguments fail at boot, naming the controller and the handler.
 *
 * @example
 * @RateLimit(LimitType.IP, [{ limit: 10, window: '1s' }, { limit: 100, window: '1m' }])
 * @RateLimit(LimitType.GLOBAL, '1000/s')
 * @RateLimit((context) => tenantOf(context), (context) => rulesOf(context), { name: 'tenant' })
 * @RateLimit('login') // a policy of the module's option `policies`
 */
export function RateLimit(policyName: string): MethodDecorator & ClassDecorator;
export function RateLimit(
  type: LimitTypeInput,
  rules: RulesInput,
  options?: RateLimitOptions,
): MethodDecorator & ClassDecorator;
export function RateLimit(
  ...args: [policy: unknown] | [type: unknown, rules: unknown, options?: unknown]
): MethodDecorator & ClassDecorator {
  const declaration: Declaration =
    args.length === 1
      ? { policy: args[0] }
      : { type: args[0], rules: args[1], options: args[2] ?? {} };
  return decorator((target) => {
    // The topmost decorator is applied last; the list is kept in reading order.
    const others = (Reflect.getOwnMetadata(RATE_LIMIT, target) ?? []) as Declaration[];
    Reflect.defineMetadata(RATE_LIMIT, [declaration, ...others], target);
    return others.length === 0;
  });
}

/**
 * Lifts the limits of a handler or a controller: all of them, or those of the policies named.
 *
 * @example
 * @SkipRateLimit()
 * @SkipRateLimit('login')
 */
export function SkipRateLimit(...policyNames: string[]): MethodDecorator & ClassDecorator {
  return decorator((target) => {
    const others = (Reflect.getOwnMetadata(SKIP, target) ?? []) as string[][];
    Reflect.defineMetadata(SKIP, [...others, policyNames], target);
    return false;
  });
}

/**
 * The decision on the present request, in a handler's parameter; undefined where none was taken, and
 * for a WebSocket message that is a bare text or number and asks for no acknowledgement.
 *
 * @example
 * find(@RateLimitInfo() decision: Decision | undefined) {}
 */
export const RateLimitInfo = createParamDecorator(
  (_: unknown, context: ExecutionContext): Decision | undefined => decisionOf(context),
);

/** The declarations that hold for a handler: its own, else its controller's. */
export function declarationsOf(
  controller: object,
  handler: object,
): readonly Declaration[] | undefined {
  return (Reflect.getMetadata(RATE_LIMIT, handler) ??
    Reflect.getMetadata(RATE_LIMIT, controller)) as readonly Declaration[] | undefined;
}

/** Where the declarations that hold for a handler stand. */
export function declaredAt(
  controller: object,
  handler: object,
): 'handler' | 'controller' | undefined {
  if (Reflect.hasMetadata(RATE_LIMIT, handler)) return 'handler';
  return Reflect.hasMetadata(RATE_LIMIT, controller) ? 'controller' : undefined;
}

/** Policy names that are skipped; `'all'` for `@SkipRateLimit()`. */
export function skippedOf(controller: object, handler: object): ReadonlySet<string> | 'all' {
  const lists = [controller, handler].flatMap(
    (target) => (Reflect.getMetadata(SKIP, target) ?? []) as string[][],
  );
  return lists.some((list) => list.length === 0) ? 'all' : new Set(lists.flat());
}

/** `mark` changes the metadata of a class or a handler; true: the guard has to be attached. */
function decorator(mark: (target: object) => boolean): MethodDecorator & ClassDecorator {
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) => {
    if (!mark((descriptor?.value as object | undefined) ?? target)) return;
    const attach = UseGuards(RateLimitGuard);
    if (descriptor === undefined) (attach as ClassDecorator)(target as never);
    else (attach as MethodDecorator)(target, key!, descriptor);
  };
}
