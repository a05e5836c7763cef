import { RequestMethod, type Type, type VersioningOptions } from '@nestjs/common';
import {
  METHOD_METADATA,
  MODULE_PATH,
  PATH_METADATA,
  VERSION_METADATA,
} from '@nestjs/common/constants.js';
import { type ApplicationConfig, MetadataScanner, type ModulesContainer } from '@nestjs/core';
import { RoutePathFactory } from '@nestjs/core/router/route-path-factory.js';

type HandlerFunction = (...args: never[]) => unknown;

/** A method that clients can call, at one path or by one pattern. */
export interface Route {
  readonly kind: 'http' | 'rpc' | 'ws' | 'graphql';
  readonly controller: Type;
  readonly handler: HandlerFunction;
  /** `GET /orders/:id`, `message "sum"`, `socket "chat"`, `Query orders`. */
  readonly text: string;
}

/** How transports mark their handlers; the packages need not be installed to be read. */
const PATTERN = 'microservices:pattern';
const PATTERN_KIND = 'microservices:handler_type';
const EVENT_PATTERN = 2;
const SOCKET_MESSAGE = 'message';
const SOCKET_HANDLER = 'websockets:message_mapping';
const RESOLVER_TYPE = 'graphql:resolver_type';
const RESOLVER_NAME = 'graphql:resolver_name';

type Module = ModulesContainer extends Map<string, infer M> ? M : never;

/** Every handler of the application, as clients know it; one per path, method and pattern. */
export function routesOf(modules: ModulesContainer, config: ApplicationConfig): Route[] {
  const scanner = new MetadataScanner();
  const paths = new RoutePathFactory(config);
  const routes: Route[] = [];
  for (const module of modules.values()) {
    const modulePath = modulePathOf(module, modules);
    for (const wrapper of [...module.controllers.values(), ...module.providers.values()]) {
      const controller = wrapper.metatype as Type | null;
      if (typeof controller !== 'function' || controller.prototype === undefined) continue;
      for (const name of scanner.getAllMethodNames(controller.prototype as object)) {
        const handler = (controller.prototype as Record<string, HandlerFunction>)[name]!;
        const found = module.controllers.has(wrapper.token as Type)
          ? [...httpRoutes(controller, handler, modulePath, config, paths), ...patterns(handler)]
          : [...socketMessages(handler), ...resolvers(handler, name)];
        for (const one of found) routes.push({ ...one, controller, handler });
      }
    }
  }
  return routes;
}

type Version = VersioningOptions['defaultVersion'];
type Found = Pick<Route, 'kind' | 'text'>;

function read<T>(key: string, target: object): T | undefined {
  return Reflect.getMetadata(key, target) as T | undefined;
}

function modulePathOf(module: Module, modules: ModulesContainer): string | undefined {
  const { metatype } = module;
  return (
    read<string>(MODULE_PATH + modules.applicationId, metatype) ??
    read<string>(MODULE_PATH, metatype)
  );
}

function httpRoutes(
  controller: Type,
  handler: HandlerFunction,
  modulePath: string | undefined,
  config: ApplicationConfig,
  factory: RoutePathFactory,
): Found[] {
  const method = read<RequestMethod>(METHOD_METADATA, handler);
  if (method === undefined) return [];
  const versioningOptions = config.getVersioning();
  const prefix = config.getGlobalPrefix();
  const written = read<string | string[]>(PATH_METADATA, controller) ?? '';
  const controllerVersion = versioningOptions
    ? (read<Version>(VERSION_METADATA, controller) ?? versioningOptions.defaultVersion)
    : undefined;
  const found = [written].flat().flatMap((ctrlPath) =>
    factory.create(
      {
        ctrlPath,
        methodPath: read<string>(PATH_METADATA, handler),
        globalPrefix: prefix && `/${prefix.replace(/^\//, '')}`,
        modulePath,
        controllerVersion,
        methodVersion: read<Version>(VERSION_METADATA, handler),
        versioningOptions,
      },
      method,
    ),
  );
  return found.map((path) => ({ kind: 'http', text: `${RequestMethod[method]} ${path}` }));
}

function patterns(handler: HandlerFunction): Found[] {
  const kind = read<number>(PATTERN_KIND, handler) === EVENT_PATTERN ? 'event' : 'message';
  return (read<unknown[]>(PATTERN, handler) ?? []).map((pattern) => ({
    kind: 'rpc',
    text: `${kind} ${JSON.stringify(pattern)}`,
  }));
}

function socketMessages(handler: HandlerFunction): Found[] {
  if (read(SOCKET_HANDLER, handler) !== true) return [];
  return [{ kind: 'ws', text: `socket ${JSON.stringify(read(SOCKET_MESSAGE, handler))}` }];
}

function resolvers(handler: HandlerFunction, name: string): Found[] {
  const type = read<string>(RESOLVER_TYPE, handler);
  if (type === undefined || !['Query', 'Mutation', 'Subscription'].includes(type)) return [];
  return [{ kind: 'graphql', text: `${type} ${read<string>(RESOLVER_NAME, handler) ?? name}` }];
}
