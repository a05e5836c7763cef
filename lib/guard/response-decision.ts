import type { Decision, PolicyDecision } from '../decision.js';

/** What a response has to tell of the calls that share it, by policy. */
const policies = new WeakMap<object, Map<string, PolicyDecision>>();

/** The decision with those of the calls before it; of a policy asked twice the later answer stands. */
export function decisionForResponse(response: object, decision: Decision): Decision {
  let told = policies.get(response);
  if (told === undefined) {
    told = new Map();
    policies.set(response, told);
  }
  for (const policy of decision.policies) told.set(`${policy.name}|${policy.type}`, policy);
  return told.size === decision.policies.length
    ? decision
    : { ...decision, policies: [...told.values()] };
}
