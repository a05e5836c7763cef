import { INTERCEPTORS_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import type { OutcomeInterceptor } from './outcomes.js';

/** Metadata by which the optional packages of Nest mark a handler. */
const MESSAGE_OF_GATEWAY = 'websockets:message_mapping';
const MESSAGE_PATTERN = 'microservices:pattern';
const RESOLVER_TYPE = 'graphql:resolver_type';
const FIELD_RESOLVER = 'graphql:resolve_property';
const REFERENCE_RESOLVER = 'graphql:resolve_reference';

const has = (key: string, handler: object) => Reflect.hasMetadata(key, handler);

/** Handlers of providers, as those of controllers, may have no limit but the module's default. */
export function isMessageOrResolver(handler: object): boolean {
  return has(MESSAGE_OF_GATEWAY, handler) || has(RESOLVER_TYPE, handler);
}

/**
 * Application-wide guards do not run for the microservices of a hybrid application, unless it says
 * `inheritAppConfig`, nor for gateways in every version of Nest: the route guard has to be there.
 */
export function mayMissGlobalGuards(handler: object): boolean {
  return has(MESSAGE_OF_GATEWAY, handler) || has(MESSAGE_PATTERN, handler);
}

/**
 * A field of an object, resolved for each object of a list: no request, so it is limited by its own
 * decorators alone, not by those of its class or the module's default.
 */
export function isFieldResolver(handler: object): boolean {
  return has(FIELD_RESOLVER, handler) || has(REFERENCE_RESOLVER, handler);
}

/** Puts the interceptor before the handler's others, unless only HTTP calls it: that needs none. */
export function observeOutcome(handler: object, interceptor: OutcomeInterceptor): void {
  if (has(PATH_METADATA, handler) && !has(MESSAGE_PATTERN, handler)) return;
  const others = (Reflect.getMetadata(INTERCEPTORS_METADATA, handler) ?? []) as object[];
  const kept = others.filter((one) => one.constructor !== interceptor.constructor);
  Reflect.defineMetadata(INTERCEPTORS_METADATA, [interceptor, ...kept], handler);
}
