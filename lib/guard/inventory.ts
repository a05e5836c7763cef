import type { ResolvedRule } from '../algorithms/algorithm.js';
import type { SubjectType } from '../rules/limit-type.js';
import type { HandlerPolicy } from './handler-policy.js';
import { windowText } from '../rules/duration.js';
import { hasRouteGuard, type PolicyExplorer } from './policy-explorer.js';
import { declaredAt, skippedOf } from './rate-limit.decorator.js';
import type { Route } from './routes.js';

/** One policy of one route; a route without policies has one row. */
export interface InventoryRow {
  /** `GET /orders/:id`, `message "sum"`, `socket "chat"`, `Query orders`. */
  readonly route: string;
  /** `OrdersController.create`. */
  readonly handler: string;
  /** Empty where no policy applies. */
  readonly policy: string;
  readonly type: SubjectType | '';
  /** `10 per 1s, 100 per 1m fixed-window`; the algorithm is told unless it is sliding-log. */
  readonly rules: string;
  /** Before route guards or after them. */
  readonly when: 'before' | 'after' | '';
  readonly shadow: boolean;
  /** Where the policy is declared, or why there is none. */
  readonly from: 'handler' | 'controller' | 'default' | 'skipped' | 'nowhere';
}

/** The table of routes and policies, in the order in which the modules declare them. */
export function inventoryOf(
  routes: readonly Route[],
  explorer: PolicyExplorer,
  globalGuard: boolean,
): InventoryRow[] {
  return routes.flatMap((route): InventoryRow[] => {
    const policies = policiesOf(route, explorer, globalGuard);
    const { text, controller, handler } = route;
    const place = { route: text, handler: `${controller.name}.${handler.name}` };
    const from = declaredAt(controller, handler);
    if (policies.length > 0) {
      return policies.map((policy) => ({
        ...place,
        ...describe(policy, globalGuard),
        from: from ?? 'default',
      }));
    }
    const skipped = from !== undefined || skippedOf(controller, handler) === 'all';
    const none = { policy: '', type: '', rules: '', when: '', shadow: false } as const;
    return [{ ...place, ...none, from: skipped ? 'skipped' : 'nowhere' }];
  });
}

/** What the guards that run for a route apply to it. */
function policiesOf(
  { kind, controller, handler }: Route,
  explorer: PolicyExplorer,
  global: boolean,
) {
  if (hasRouteGuard(handler)) return explorer.policiesOf(controller, handler, 'after');
  // Nest runs no guard of the application for gateways.
  return global && kind !== 'ws' ? explorer.policiesOf(controller, handler, 'before') : [];
}

function describe({ name, type, plan, phase, shadow }: HandlerPolicy, globalGuard: boolean) {
  return {
    policy: name,
    type,
    rules: typeof plan === 'function' ? 'by request' : plan.rules.map(ruleText).join(', '),
    when: globalGuard ? phase : 'after',
    shadow,
  } as const;
}

function ruleText(rule: ResolvedRule & { readonly refill?: number }): string {
  const { algorithm, limit, windowMs, refill } = rule;
  if (refill !== undefined) {
    return `${limit} at once, ${refill} per ${windowText(windowMs)} ${algorithm}`;
  }
  const text = `${limit} per ${windowText(windowMs)}`;
  return algorithm === 'sliding-log' ? text : `${text} ${algorithm}`;
}
