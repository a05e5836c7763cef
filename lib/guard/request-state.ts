import type { ExecutionContext } from '@nestjs/common';
import { type Decision, merge } from '../decision.js';
import type { ContextAdapters } from './contexts/adapters.js';
import { callOf, firstObject } from './contexts/call.js';
import type { ContextAdapter } from './contexts/context.js';
import type { HandlerPolicy } from './handler-policy.js';
import type { Outcome } from './policy-options.js';

/** What is remembered of a request while it lives. */
export interface RequestState {
  /** Policies that have been applied: each is charged once. */
  applied: readonly HandlerPolicy[];
  decision: Decision | undefined;
  /** Whom to tell how the handler ended, where the transport does not say. */
  listeners: ((outcome: Outcome) => void)[] | undefined;
}

const STATE = Symbol('nestjs-sliding-window');

type Request = object & { [STATE]?: RequestState };

/** For requests that take no property. */
const frozen = new WeakMap<object, RequestState>();

const NONE: readonly HandlerPolicy[] = [];

/**
 * On the request itself: as an entry of a WeakMap it would cost the garbage collector more than all
 * the rest of a decision.
 */
export function stateOf(request: Request): RequestState {
  const known = knownState(request);
  if (known !== undefined) return known;
  const state: RequestState = { applied: NONE, decision: undefined, listeners: undefined };
  if (Object.isExtensible(request)) request[STATE] = state;
  else frozen.set(request, state);
  return state;
}

function knownState(request: Request): RequestState | undefined {
  return request[STATE] ?? (Object.isExtensible(request) ? undefined : frozen.get(request));
}

/** Those of the policies that have not been applied to the request; from now on they have. */
export function takeDue(
  state: RequestState,
  policies: readonly HandlerPolicy[],
): readonly HandlerPolicy[] {
  const { applied } = state;
  if (applied === policies) return NONE;
  if (applied.length === 0) {
    state.applied = policies;
    return policies;
  }
  const due = policies.filter(({ key }) => !applied.some((one) => one.key === key));
  if (due.length > 0) state.applied = [...applied, ...due];
  return due;
}

export function addDecision(state: RequestState, decision: Decision): Decision {
  state.decision = state.decision === undefined ? decision : merge(state.decision, decision);
  return state.decision;
}

/** All adapters of this process by type: a parameter decorator is not told its module. */
const known = new Map<string, Set<ContextAdapter>>();

export function rememberAdapters(adapters: ContextAdapters): void {
  for (const [type, adapter] of adapters) {
    const others = known.get(type) ?? new Set();
    known.set(type, others.add(adapter));
  }
}

/** Decisions by the mark of their call, for parameter decorators. Nothing is charged by a mark. */
const marked = new WeakMap<object, RequestState>();

export function markCall(
  state: RequestState,
  context: ExecutionContext,
  adapter: ContextAdapter,
): void {
  const mark = firstObject(adapter.markOf?.(context));
  if (mark !== undefined) marked.set(callOf(mark, context.getHandler()), state);
}

export function decisionOf(context: ExecutionContext): Decision | undefined {
  for (const adapter of known.get(context.getType<string>()) ?? []) {
    const mark = firstObject(adapter.markOf?.(context));
    const state =
      mark === undefined
        ? knownState(adapter.requestOf(context))
        : marked.get(callOf(mark, context.getHandler()));
    if (state?.decision !== undefined) return state.decision;
  }
  return undefined;
}
