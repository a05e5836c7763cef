import type { ExecutionContext } from '@nestjs/common';
import { type Decision, merge } from '../decision.js';
import { adapterOf } from './contexts/context.js';

/** What is remembered of a request while it lives. */
export interface RequestState {
  /** Policies that have been applied, by name and type: each is charged once. */
  readonly applied: Set<string>;
  decision: Decision | undefined;
}

const states = new WeakMap<object, RequestState>();

export function stateOf(request: object): RequestState {
  let state = states.get(request);
  if (state === undefined) {
    state = { applied: new Set(), decision: undefined };
    states.set(request, state);
  }
  return state;
}

export function addDecision(state: RequestState, decision: Decision): Decision {
  state.decision = state.decision === undefined ? decision : merge(state.decision, decision);
  return state.decision;
}

export function decisionOf(context: ExecutionContext): Decision | undefined {
  return states.get(adapterOf(context).requestOf(context))?.decision;
}
