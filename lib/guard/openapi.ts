import { RequestMethod, type Type } from '@nestjs/common';
import { HTTP_CODE_METADATA, METHOD_METADATA } from '@nestjs/common/constants.js';
import {
  type ApiResponse,
  type OpenApiOptions,
  tooManyRequests,
  unavailable,
} from './openapi-responses.js';
import type { PolicyExplorer } from './policy-explorer.js';
import type { Route } from './routes.js';

/**
 * Where @nestjs/swagger keeps what `@ApiResponse()` says, and what its compiler plugin has found.
 * Written and read here by name, so that the package is loaded for no application that does not
 * use it; test/guard/openapi.test.ts holds them against the real one.
 */
const RESPONSES = 'swagger/apiResponse';
const PLUGIN_METADATA = '_OPENAPI_METADATA_FACTORY';

type Responses = Readonly<Record<string, ApiResponse>>;

/** What is written here; everything else is the user's and wins. */
const ours = new WeakSet<object>();

/** Documents 429 and 503 with their header fields on every handler of HTTP that may answer so. */
export function documentResponses(
  routes: readonly Route[],
  explorer: PolicyExplorer,
  options: OpenApiOptions,
): void {
  const http = routes.filter(({ kind }) => kind === 'http');
  // Another application of this process may have written other ones.
  for (const { handler } of http) removeOurs(handler);
  for (const { controller, handler } of http) {
    const policies = explorer
      .policiesOf(controller, handler, 'after')
      .filter(({ shadow }) => !shadow);
    if (policies.length === 0) continue;
    const denies = policies.some(({ onStoreError }) => onStoreError === 'deny');
    const described: Responses = {
      429: tooManyRequests(options),
      ...(denies ? { 503: unavailable(options) } : {}),
    };
    const missing = Object.entries(described).filter(
      ([status]) => !(status in responsesOf(controller)) && !(status in responsesOf(handler)),
    );
    if (missing.length > 0) add(controller, handler, Object.fromEntries(missing));
  }
}

function responsesOf(target: object): Responses {
  return (Reflect.getMetadata(RESPONSES, target) ?? {}) as Responses;
}

function removeOurs(handler: object): void {
  const responses = responsesOf(handler);
  const left = ours.has(responses)
    ? []
    : Object.entries(responses).filter(([, response]) => !ours.has(response));
  if (left.length > 0) Reflect.defineMetadata(RESPONSES, Object.fromEntries(left), handler);
  else Reflect.deleteMetadata(RESPONSES, handler);
}

function add(controller: Type, handler: Route['handler'], added: Responses): void {
  for (const response of Object.values(added)) ours.add(response);
  const known = responsesOf(handler);
  const all =
    Object.keys(known).length > 0
      ? { ...known, ...added }
      : // @nestjs/swagger documents the success only of a handler without any response of its own.
        late(() => ({ ...successOf(controller, handler), ...added }));
  Reflect.defineMetadata(RESPONSES, all, handler);
}

/**
 * An object whose properties are found out when they are read, which is when the document is made:
 * the application may load what the compiler plugin has found long after this module has started.
 */
function late(properties: () => Responses): Responses {
  const responses = new Proxy<Responses>(
    {},
    {
      get: (_, status) => properties()[status as string],
      has: (_, status) => status in properties(),
      ownKeys: () => Reflect.ownKeys(properties()),
      getOwnPropertyDescriptor: (_, status) =>
        Reflect.getOwnPropertyDescriptor(properties(), status),
    },
  );
  ours.add(responses);
  return responses;
}

/** What @nestjs/swagger would document if the handler had no responses. */
function successOf(controller: Type, handler: Route['handler']): Responses {
  const { status = statusOf(handler), type, isArray, ...found } = fromPlugin(controller, handler);
  const [one, many] = Array.isArray(type) ? [type[0] as unknown, true] : [type, isArray];
  return {
    [String(status)]: {
      description: '',
      ...found,
      ...(one === undefined ? {} : { type: one, isArray: many }),
    },
  };
}

function fromPlugin(controller: Type, { name }: Route['handler']): ApiResponse {
  let type: object = controller;
  while (typeof type === 'function' && type !== Function.prototype) {
    const factory = Object.getOwnPropertyDescriptor(type, PLUGIN_METADATA)?.value as
      (() => Responses) | undefined;
    const found = factory?.()[name];
    if (found !== undefined) {
      const { summary: _summary, deprecated: _deprecated, tags: _tags, ...response } = found;
      return response;
    }
    type = Reflect.getPrototypeOf(type)!;
  }
  return {};
}

function statusOf(handler: object): number {
  const status = Reflect.getMetadata(HTTP_CODE_METADATA, handler) as number | undefined;
  if (status) return status;
  return Reflect.getMetadata(METHOD_METADATA, handler) === RequestMethod.POST ? 201 : 200;
}
