import {
  type ArgumentsHost,
  type CanActivate,
  Catch,
  type ExecutionContext,
  Injectable,
  UseFilters,
  UseGuards,
} from '@nestjs/common';
import {
  BaseWsExceptionFilter,
  MessageBody,
  SubscribeMessage,
  WebSocketGateway,
  WsException,
} from '@nestjs/websockets';
import { concat, of, throwError } from 'rxjs';
import {
  type Decision,
  LimitType,
  RateLimit,
  RateLimitInfo,
  SkipRateLimit,
} from '../../lib/index.js';
import { caught } from './contexts.js';

/** Authenticates a message by the user that it names. */
@Injectable()
export class MessageAuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { user } = context.switchToWs().getData<{ user?: string }>();
    if (user === undefined) throw new WsException('who are you?');
    context.switchToWs().getClient<{ user?: object }>().user = { id: user };
    return true;
  }
}

/** Notes what a server may know of a denial, and passes it on. */
@Catch(WsException)
class NotingFilter extends BaseWsExceptionFilter {
  override catch(exception: WsException, host: ArgumentsHost) {
    caught.push(exception);
    super.catch(exception, host);
  }
}

const reply = (data: unknown) => ({ event: 'reply', data });

/** Handlers with limits of every kind; each answers with the event `reply`. */
@WebSocketGateway()
export class LimitedGateway {
  @SubscribeMessage('ip')
  @RateLimit(LimitType.IP, '2/m')
  ip(@MessageBody() data: unknown) {
    return reply(data);
  }

  @SubscribeMessage('user')
  @UseFilters(new NotingFilter())
  @UseGuards(MessageAuthGuard)
  @RateLimit(LimitType.IP, '5/m', { name: 'user-ip' })
  @RateLimit(LimitType.USER_ID, '1/m', { name: 'user-id', message: 'not so fast' })
  user() {
    return reply('ok');
  }

  @SubscribeMessage('info')
  @RateLimit(LimitType.GLOBAL, '3/m')
  info(@RateLimitInfo() decision: Decision | undefined) {
    return reply({
      remaining: decision?.policies[0]?.rules[0]?.remaining ?? null,
      subject: decision?.policies[0]?.subject ?? null,
    });
  }

  @SubscribeMessage('address')
  @RateLimit(LimitType.IP, '3/m')
  address(@RateLimitInfo() decision: Decision) {
    return reply(decision.policies[0]!.subject);
  }

  @SubscribeMessage('failures')
  @RateLimit(LimitType.GLOBAL, '2/m', { countWhen: 'failure' })
  failures(@MessageBody() data: { end: 'return' | 'throw' | 'stream' | 'break' }) {
    if (data.end === 'throw') throw new WsException('failed');
    if (data.end === 'stream') return of(reply(1), reply(2));
    if (data.end === 'break') {
      return concat(
        of(reply(1)),
        throwError(() => new WsException('broken')),
      );
    }
    return reply('ok');
  }

  @SubscribeMessage('skipped')
  @SkipRateLimit()
  skipped() {
    return reply('ok');
  }

  @SubscribeMessage('default')
  byDefault() {
    return reply('ok');
  }

  @SubscribeMessage('closed')
  @RateLimit(LimitType.GLOBAL, '3/m', { onStoreError: 'deny', cost: () => -1 })
  closed() {
    return reply('ok');
  }
}

/** Limited as a class. */
@WebSocketGateway()
@RateLimit(LimitType.IP, '1/m', { name: 'class' })
export class LimitedClassGateway {
  @SubscribeMessage('class-a')
  a() {
    return reply('ok');
  }

  @SubscribeMessage('class-b')
  b() {
    return reply('ok');
  }

  @SubscribeMessage('class-skipped')
  @SkipRateLimit('class')
  skipped() {
    return reply('ok');
  }
}
