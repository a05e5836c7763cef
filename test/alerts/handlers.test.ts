import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  ForbiddenException,
  Get,
  Header,
  HttpCode,
  Injectable,
  Param,
  Scope,
  Sse,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { ApiOperation, DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { setTimeout } from 'node:timers/promises';
import { of } from 'rxjs';
import { CountEvent, LimitType, RateLimit } from '../../lib/index.js';
import { closeApps, type Platform, startApp, type TestApp } from '../support/app.js';
import { Listener } from './open-alerts.js';

afterEach(closeApps);

const EACH = { by: (key: string) => key, window: '5m', threshold: 1, clear: true } as const;

@Injectable()
class PasswordGuard implements CanActivate {
  @CountEvent('counted', { ...EACH, by: (context: ExecutionContext) => context.getHandler().name })
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (headers['x-user'] === undefined) throw new UnauthorizedException();
    return true;
  }
}

@Controller('below')
class BelowController {
  @CountEvent('counted', { ...EACH, when: 'returns' })
  @Get(':key')
  @HttpCode(202)
  @Header('x-marked', 'yes')
  @UseGuards(PasswordGuard)
  @RateLimit(LimitType.IP, '2/m')
  @ApiOperation({ summary: 'Counted from above' })
  below(@Param('key') key: string) {
    return { key };
  }
}

@Controller('above')
class AboveController {
  @Get(':key')
  @HttpCode(202)
  @Header('x-marked', 'yes')
  @UseGuards(PasswordGuard)
  @RateLimit(LimitType.IP, '2/m')
  @ApiOperation({ summary: 'Counted from below' })
  @CountEvent('counted', { ...EACH, when: 'returns' })
  above(@Param('key') key: string) {
    return { key };
  }
}

@Controller('others')
class OthersController {
  @Get('fails/:key')
  @CountEvent('counted', EACH)
  async fails(@Param('key') _key: string): Promise<void> {
    await Promise.resolve();
    throw new ForbiddenException('as it was');
  }

  @Sse('events/:key')
  @CountEvent('counted', { ...EACH, when: 'returns' })
  events(@Param('key') _key: string) {
    return of({ data: 1 }, { data: 2 });
  }
}

@Controller({ path: 'scoped', scope: Scope.REQUEST })
class ScopedController {
  @Get(':key')
  @CountEvent('counted', { ...EACH, when: 'returns' })
  scoped(@Param('key') key: string) {
    return key;
  }
}

const start = (platform: Platform) =>
  startApp({
    controllers: [BelowController, AboveController, OthersController, ScopedController],
    providers: [Listener],
    platform,
  });

/** An event stream is over for the client a moment before it is for the server. */
async function keysOf(app: TestApp, count: number): Promise<string[]> {
  const { alerts } = app.get(Listener);
  for (let i = 0; i < 100 && alerts.length < count; i++) await setTimeout(10);
  return alerts.map(({ key }) => key);
}

describe.each<Platform>(['express', 'fastify'])('counted handlers on %s', (platform) => {
  it.each(['below', 'above'])('keep what the decorators %s say', async (place) => {
    const app = await start(platform);
    expect((await app.request(`/${place}/ada`)).status).toBe(401);
    const answer = await app.request(`/${place}/ada`, { user: 'ada' });
    expect([answer.status, answer.headers.get('x-marked')]).toEqual([202, 'yes']);
    expect(await answer.json()).toEqual({ key: 'ada' });
    expect((await app.request(`/${place}/ada`, { user: 'ada' })).status).toBe(429);
    expect(await keysOf(app, 2)).toEqual([place, 'ada']);
    const { paths } = SwaggerModule.createDocument(app.app, new DocumentBuilder().build());
    const operation = paths[`/${place}/{key}`]!.get!;
    expect(operation.summary).toMatch(/^Counted from/);
    expect(Object.keys(operation.responses)).toEqual(expect.arrayContaining(['202', '429']));
    expect(operation.operationId).toContain(place);
  });

  it('answer as they did: errors, streams, and those of request scope', async () => {
    const app = await start(platform);
    const failed = await app.request('/others/fails/fails');
    expect(failed.status).toBe(403);
    expect(await failed.json()).toMatchObject({ message: 'as it was' });
    expect(await (await app.request('/others/events/events')).text()).toMatch(/data: 1[^]*data: 2/);
    expect(await (await app.request('/scoped/scoped')).text()).toBe('scoped');
    expect((await keysOf(app, 3)).sort()).toEqual(['events', 'fails', 'scoped']);
  });
});
