import type { ModulesContainer } from '@nestjs/core';
import { configError } from '../errors.js';
import type { Alerts } from './alerts.js';
import { type EventDeclaration, eventsOf } from './count-event.decorator.js';
import { countClass, countInstance } from './counted-instances.js';
import {
  checkEventName,
  type EventDefinition,
  parseEvent,
  sameCounter,
} from './event-definition.js';
import { type ListenerDeclaration, listenersOf } from './on-threshold.decorator.js';

/** What is read of Nest's `InstanceWrapper`, which it does not export. */
interface Wrapper {
  readonly instance: unknown;
  readonly metatype: unknown;
  readonly isTransient: boolean;
  isDependencyTreeStatic(): boolean;
}

/**
 * Finds at boot what the instances of the application count and listen to, and refuses what cannot be
 * meant. Controllers, providers, and the guards, pipes, interceptors and filters that they use.
 */
export class AlertExplorer {
  /** Where each event was seen first. */
  private readonly names = new Map<string, EventDefinition>();
  private readonly heard = new Set<string>();
  private readonly seen = new Set<object>();
  private readonly added = new Set<EventDeclaration>();

  constructor(private readonly alerts: Alerts) {}

  /** Throws RateLimitConfigError that names class and method. Returns the events that nobody hears. */
  explore(modules: ModulesContainer): string[] {
    const listeners: ListenerDeclaration[] = [];
    for (const { controllers, providers, injectables } of modules.values()) {
      for (const wrappers of [controllers, providers, injectables]) {
        for (const wrapper of wrappers.values()) listeners.push(...this.look(wrapper));
      }
    }
    for (const { name, path } of listeners) {
      if (!this.names.has(name as string)) {
        throw configError.unknownEvent(path, name, [...this.names.keys()]);
      }
    }
    return [...this.names.keys()].filter((name) => !this.heard.has(name));
  }

  private look(wrapper: Wrapper): ListenerDeclaration[] {
    const single = !wrapper.isTransient && wrapper.isDependencyTreeStatic();
    if (!single) return this.lookAtClass(wrapper.metatype as { prototype?: object } | null);
    const { instance } = wrapper;
    // An instance may be known by several tokens.
    if (typeof instance !== 'object' || instance === null || this.seen.has(instance)) return [];
    this.seen.add(instance);
    const prototype = Object.getPrototypeOf(instance) as object | null;
    if (this.addEvents(prototype)) countInstance(instance, this.alerts);
    const listeners = listenersOf(prototype);
    for (const { name, key, path } of listeners) {
      const event = checkEventName(name, path);
      this.heard.add(event);
      this.alerts.listen(event, {
        path,
        call: (alert) =>
          (instance as Record<PropertyKey, (alert: unknown) => unknown>)[key]!(alert),
      });
    }
    return listeners;
  }

  /** Instances that are made per request, or per place of use. */
  private lookAtClass(type: { prototype?: object } | null): [] {
    const prototype = type?.prototype;
    if (typeof prototype !== 'object') return [];
    if (this.addEvents(prototype)) countClass(type!, this.alerts);
    const [listener] = listenersOf(prototype);
    if (listener === undefined) return [];
    throw configError.badValue(
      listener.path,
      'request-scoped or transient',
      'a provider of the default scope: an alert belongs to no request',
    );
  }

  /** Whether there are any. */
  private addEvents(prototype: object | null): boolean {
    const declarations = eventsOf(prototype);
    for (const declaration of declarations) {
      if (this.added.has(declaration)) continue;
      this.added.add(declaration);
      const { name, options, path } = declaration;
      const event = parseEvent(name, options, path);
      const first = this.names.get(event.name) ?? event;
      if (!sameCounter(first, event)) {
        throw configError.eventsDiffer(event.name, first.path, path);
      }
      this.names.set(event.name, first);
      this.alerts.add(declaration, event);
    }
    return declarations.length > 0;
  }
}
