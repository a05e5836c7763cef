import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { PolicyEnforcer } from './policy-enforcer.js';

/**
 * Runs for the whole application, before every other guard, so that what those refuse is counted:
 * applies the policies that need no user.
 */
@Injectable()
export class GlobalRateLimitGuard implements CanActivate {
  /** @hidden Nest makes it. */
  constructor(private readonly enforcer: PolicyEnforcer) {}

  canActivate(context: ExecutionContext): boolean | Promise<boolean> {
    return this.enforcer.enforce(context, 'before');
  }
}
