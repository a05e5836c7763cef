import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { PolicyEnforcer } from './policy-enforcer.js';

/**
 * Runs where `@RateLimit` attaches it, after every other guard of the handler: applies the policies
 * that need to know the user, and those that no earlier guard has applied.
 */
@Injectable()
export class RateLimitGuard implements CanActivate {
  /** @hidden Nest makes it. */
  constructor(private readonly enforcer: PolicyEnforcer) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.enforcer.enforce(context, 'after');
  }
}
