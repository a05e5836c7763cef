import { configError } from '../errors.js';
import { Policies, type PolicyDefaults } from '../limiting/policies.js';
import { resolveHandlerPolicy } from './handler-policy.js';
import type { NamedPolicyOptions } from './policy-options.js';

/** The module's `policies` for the service; each is checked whole, whether it is used or not. */
export function namedPolicies(
  options: PolicyDefaults & { readonly policies: Readonly<Record<string, NamedPolicyOptions>> },
): Policies {
  const policies = new Policies(options);
  for (const [name, written] of Object.entries(options.policies)) {
    const path = `policies.${name}`;
    if (typeof written !== 'object' || written === null) {
      throw configError.badValue(path, written, '{ type, rules }');
    }
    const type = written.type ?? (() => '');
    resolveHandlerPolicy({ ...written, type }, name, options, path);
    const { rules, blockFor, lease, onStoreError, shadow } = written;
    if (typeof rules === 'function') {
      policies.refuse(name, 'a policy whose rules do not depend on a request');
      continue;
    }
    policies.add(
      {
        name,
        type: typeof type === 'function' ? 'custom' : type,
        rules,
        blockFor,
        lease,
        onStoreError,
        shadow,
      },
      path,
    );
  }
  return policies;
}
