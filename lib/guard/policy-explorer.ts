import type { CanActivate, Type } from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { samePlan } from '../algorithms/plan.js';
import { checkKeys, configError } from '../errors.js';
import type { PolicyDefaults } from '../limiting/policies.js';
import type { NamedPolicyOptions, PolicyOptions } from './policy-options.js';
import { RATE_LIMIT_KEYS } from './policy-options.js';
import { type HandlerPolicy, type Phase, resolveHandlerPolicy } from './handler-policy.js';
import { type Declaration, declarationsOf, skippedOf } from './rate-limit.decorator.js';
import type { OutcomeInterceptor } from './outcomes.js';
import { RateLimitGuard } from './rate-limit.guard.js';
import {
  isFieldResolver,
  isMessageOrResolver,
  mayMissGlobalGuards,
  observeOutcome,
} from './transports.js';

/** A handler's policies by the phase in which they are applied. */
type Phases = Readonly<Record<Phase, readonly HandlerPolicy[]>>;

const NO_POLICIES: Phases = { before: [], after: [] };

export interface ExplorerOptions extends PolicyDefaults {
  readonly policies: Readonly<Record<string, NamedPolicyOptions>>;
  readonly default: (PolicyOptions & { name?: string }) | undefined;
  readonly globalGuard: boolean;
}

/** Finds at boot what every handler declares, and refuses what cannot be meant. */
export class PolicyExplorer {
  private readonly handlers = new Map<object, Map<object, Phases>>();
  /** Where each policy name was seen first. */
  private readonly names = new Map<string, HandlerPolicy>();

  constructor(private readonly options: ExplorerOptions) {}

  /** All handlers of all modules. Throws RateLimitConfigError that names controller and handler. */
  explore(modules: ModulesContainer, guard: RateLimitGuard, outcome: OutcomeInterceptor): void {
    const scanner = new MetadataScanner();
    for (const module of modules.values()) {
      for (const wrapper of [...module.controllers.values(), ...module.providers.values()]) {
        const type = wrapper.metatype as Type | null;
        if (typeof type !== 'function' || type.prototype === undefined) continue;
        const isController = module.controllers.has(wrapper.token as Type);
        for (const name of scanner.getAllMethodNames(type.prototype as object)) {
          const handler = (type.prototype as Record<string, unknown>)[name] as object;
          const isHandler = (isController && isRoute(handler)) || isMessageOrResolver(handler);
          if (declarationsOf(type, handler) === undefined && !isHandler) continue;
          const { before, after } = this.add(type, handler);
          // What the global guard does not apply needs the route guard.
          const early = this.options.globalGuard && !mayMissGlobalGuards(handler);
          const late = after.length > (early ? before.length : 0);
          putGuardLast(type, handler, late ? guard : undefined);
          if (after.some(({ countWhen }) => countWhen !== 'always')) {
            observeOutcome(handler, outcome);
          }
        }
        removeGuard(type);
      }
    }
  }

  /** The policies to apply in a phase; where no global guard runs, all of them come after. */
  policiesOf(controller: object, handler: object, phase: Phase): readonly HandlerPolicy[] {
    const phases =
      this.handlers.get(controller)?.get(handler) ?? this.add(controller as Type, handler);
    return phases[phase];
  }

  private add(controller: Type, handler: object): Phases {
    const known = this.handlers.get(controller)?.get(handler);
    if (known !== undefined) return known;
    const policies = this.resolve(controller, handler as { name: string });
    const early = policies.filter((policy) => policy.phase === 'before');
    // The same array where it is the same, so that what has been applied is known by one comparison.
    const before = early.length === policies.length ? policies : early;
    const phases: Phases =
      policies.length === 0
        ? NO_POLICIES
        : // The route guard applies all; what has been applied before is not applied again.
          { before, after: policies };
    const handlers = this.handlers.get(controller) ?? new Map<object, Phases>();
    this.handlers.set(controller, handlers.set(handler, phases));
    return phases;
  }

  private resolve(controller: Type, handler: { name: string }): HandlerPolicy[] {
    const skipped = skippedOf(controller, handler);
    if (skipped === 'all') return [];
    const place = `${controller.name}.${handler.name}`;
    const alone = isFieldResolver(handler);
    const declarations = declarationsOf(alone ? handler : controller, handler);
    const policies = declarations
      ? declarations.map((declaration, i) => {
          const path = `${place} @RateLimit${declarations.length > 1 ? ` number ${i + 1}` : ''}`;
          return this.resolveDeclaration(declaration, defaultName(place, i), path);
        })
      : this.options.default === undefined || alone
        ? []
        : [
            resolveHandlerPolicy(
              this.options.default,
              defaultName(place, 0),
              this.options,
              `option default, at ${place}`,
            ),
          ];
    for (const policy of policies) this.checkName(policy);
    return policies.filter((policy, i) => {
      const first = policies.findIndex(
        (one) => one.name === policy.name && one.type === policy.type,
      );
      return first === i && !skipped.has(policy.name);
    });
  }

  private resolveDeclaration(declaration: Declaration, name: string, path: string): HandlerPolicy {
    if ('policy' in declaration) {
      const { policy } = declaration;
      const known = Object.keys(this.options.policies);
      if (typeof policy !== 'string' || !known.includes(policy)) {
        throw configError.unknownPolicy(path, policy, known);
      }
      const named = this.options.policies[policy]!;
      return resolveHandlerPolicy(
        { ...named, name: policy } as PolicyOptions,
        policy,
        this.options,
        `${path} policies.${policy}`,
      );
    }
    const options = checkKeys(declaration.options, RATE_LIMIT_KEYS, `${path} options`);
    return resolveHandlerPolicy(
      { ...options, type: declaration.type, rules: declaration.rules } as PolicyOptions,
      name,
      this.options,
      path,
    );
  }

  /** One name is one budget: the same rules everywhere, and never by accident. */
  private checkName(policy: HandlerPolicy): void {
    const first = this.names.get(policy.name);
    if (first === undefined) {
      this.names.set(policy.name, policy);
      return;
    }
    if (first.path === policy.path && typeof policy.plan === 'function') return;
    if (!policy.named || !first.named) {
      throw configError.nameTaken(policy.name, first.path, policy.path);
    }
    const same =
      typeof first.plan === 'object' && typeof policy.plan === 'object'
        ? samePlan(first.plan, policy.plan)
        : first.rules === policy.rules;
    if (!same) throw configError.rulesDiffer(policy.name, first.path, policy.path);
  }
}

/** ClassName-methodName, and a number where a target declares several. */
function defaultName(place: string, index: number): string {
  const name = place.replace('.', '-').replace(/[^A-Za-z0-9_.-]/g, '_');
  return index === 0 ? name : `${name}-${index + 1}`;
}

type Guards = (Type<CanActivate> | CanActivate)[];

function guardsOf(target: object): Guards {
  return (Reflect.getMetadata(GUARDS_METADATA, target) ?? []) as Guards;
}

/** Guards of the handler and its controller but ours. */
export function otherGuardsOf(controller: object, handler: object): Guards {
  return [...guardsOf(controller), ...guardsOf(handler)].filter((guard) => !isOurs(guard));
}

/** The handler has our route guard, which applies all of its policies. */
export function hasRouteGuard(handler: object): boolean {
  return guardsOf(handler).some(isOurs);
}

function isOurs(guard: Guards[number]): boolean {
  return guard === RateLimitGuard || guard instanceof RateLimitGuard;
}

/** A method that some transport calls: all of them mark it with metadata. */
function isRoute(handler: object): boolean {
  return Reflect.getMetadataKeys(handler).length > 0;
}

/**
 * Puts our guard behind every other guard of the handler, wherever the decorators stand: a user is
 * known only when authentication has run. `guard` serves handlers that no decorator has marked.
 */
function putGuardLast(controller: object, handler: object, guard?: RateLimitGuard): void {
  const attached =
    declarationsOf(controller, handler) !== undefined ||
    [...guardsOf(controller), ...guardsOf(handler)].includes(RateLimitGuard);
  const last = attached ? RateLimitGuard : guard;
  if (last === undefined) return;
  const others = guardsOf(handler).filter((one) => !isOurs(one));
  Reflect.defineMetadata(GUARDS_METADATA, [...others, last], handler);
}

function removeGuard(controller: object): void {
  const guards = guardsOf(controller);
  if (!guards.some(isOurs)) return;
  Reflect.defineMetadata(
    GUARDS_METADATA,
    guards.filter((guard) => !isOurs(guard)),
    controller,
  );
}
