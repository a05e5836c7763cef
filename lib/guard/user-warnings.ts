import { LimitType } from '../rules/limit-type.js';
import type { HandlerPolicy } from './handler-policy.js';
import { otherGuardsOf, type PolicyExplorer } from './policy-explorer.js';
import { declaredAt } from './rate-limit.decorator.js';
import type { Route } from './routes.js';

const MOST_NAMED = 5;

/**
 * Policies of type USER_ID that are applied where nobody has set the user yet, so that they would
 * count addresses: those with `when: 'before'`, and those of handlers without any other guard.
 * A middleware may have set the user all the same, which cannot be seen; hence warnings, not errors.
 */
export function userWarnings(
  routes: readonly Route[],
  explorer: PolicyExplorer,
  { globalGuard, otherGlobalGuards }: { globalGuard: boolean; otherGlobalGuards: boolean },
): string[] {
  const early = new Set<string>();
  const unguarded = new Set<string>();
  for (const { controller, handler } of routes) {
    for (const policy of explorer.policiesOf(controller, handler, 'after')) {
      if (policy.type !== LimitType.USER_ID) continue;
      if (policy.phase === 'before' && globalGuard) early.add(placeOf(policy));
      // A default reaches public handlers as well, where counting addresses is meant.
      else if (
        !otherGlobalGuards &&
        declaredAt(controller, handler) !== undefined &&
        otherGuardsOf(controller, handler).length === 0
      ) {
        unguarded.add(placeOf(policy));
      }
    }
  }
  const warnings: string[] = [];
  if (early.size > 0) {
    warnings.push(
      `${list(early)}: counts users before authentication: with when: 'before' it runs before every ` +
        `guard, and unless a middleware has set request.user it counts addresses. Leave out \`when\`, ` +
        'or say in the option `getUserId` where the user is found.',
    );
  }
  if (unguarded.size > 0) {
    warnings.push(
      `${list(unguarded)}: counts users, and no guard runs before it that could authenticate them: ` +
        'unless a middleware has set request.user it counts addresses. Add the guard, use ' +
        'LimitType.IP, or say in the option `getUserId` where the user is found.',
    );
  }
  return warnings;
}

function placeOf({ path, name }: HandlerPolicy): string {
  return `${path} (policy "${name}")`;
}

function list(places: ReadonlySet<string>): string {
  const names = [...places].slice(0, MOST_NAMED).join(', ');
  return places.size > MOST_NAMED ? `${names} and ${places.size - MOST_NAMED} more` : names;
}
