import type { ExecutionContext } from '@nestjs/common';
import { type Decision, merge } from '../decision.js';
import type { ContextAdapters } from './contexts/adapters.js';
import { callOf, firstObject } from './contexts/call.js';
import type { ContextAdapter } from './contexts/context.js';
import type { Outcome } from './policy-options.js';

/** What is remembered of a request while it lives. */
export interface RequestState {
  /** Policies that have been applied, by name and type: each is charged once. */
  readonly applied: Set<string>;
  decision: Decision | undefined;
  /** Whom to tell how the handler ended, where the transport does not say. */
  listeners: ((outcome: Outcome) => void)[] | undefined;
}

const states = new WeakMap<object, RequestState>();

export function stateOf(request: object): RequestState {
  let state = states.get(request);
  if (state === undefined) {
    state = { applied: new Set(), decision: undefined, listeners: undefined };
    states.set(request, state);
  }
  return state;
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
        ? states.get(adapter.requestOf(context))
        : marked.get(callOf(mark, context.getHandler()));
    if (state?.decision !== undefined) return state.decision;
  }
  return undefined;
}
