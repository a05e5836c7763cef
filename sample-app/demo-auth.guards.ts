import {
  type CanActivate,
  type ExecutionContext,
  Injectable,
  UnauthorizedException,
} from '@nestjs/common';
import { CountEvent } from '../lib/index.js';
import { headerOf, requestOf } from './requests.js';

/** DEMO ONLY: believes whatever name the client claims to have. */
@Injectable()
export class DemoUserGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const id = headerOf(context, 'x-demo-user');
    if (id === '') throw new UnauthorizedException('Say who you are in the header x-demo-user');
    requestOf(context).user = { id };
    return true;
  }
}

/** DEMO ONLY: everybody's password is "secret". */
@Injectable()
export class DemoPasswordGuard implements CanActivate {
  @CountEvent('login-failed', {
    by: (context: ExecutionContext) => requestOf(context).ip,
    window: '5m',
    threshold: 5,
    clear: true,
  })
  canActivate(context: ExecutionContext): boolean {
    const { password } = (requestOf(context).body ?? {}) as { password?: unknown };
    if (password !== 'secret') throw new UnauthorizedException('Wrong password');
    return true;
  }
}
