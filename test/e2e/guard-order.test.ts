import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  type INestApplication,
  Injectable,
  Logger,
  Module,
  type Type,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import {
  LimitType,
  RateLimit,
  RateLimitGuard,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import type { Platform } from '../support/app.js';

/** Authenticates by a header, and refuses who has none. */
@Injectable()
class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context
      .switchToHttp()
      .getRequest<{ headers: Record<string, string>; user?: object }>();
    const id = request.headers['x-user'];
    if (id === undefined) throw new UnauthorizedException();
    request.user = { id };
    return true;
  }
}

@Module({ providers: [{ provide: APP_GUARD, useClass: AuthGuard }] })
class AuthModule {}

/** Needs a guard of the application: none stands here. */
@Controller()
class BareController {
  @Get('user')
  @RateLimit(LimitType.USER_ID, '2/m')
  user() {}

  @Get('address')
  @RateLimit(LimitType.IP, '2/m')
  address() {}

  @Get('both')
  @RateLimit(LimitType.IP, '3/m', { name: 'both-ip' })
  @RateLimit(LimitType.USER_ID, '2/m', { name: 'both-user' })
  both() {}

  @Get('again')
  @UseGuards(RateLimitGuard, RateLimitGuard)
  @RateLimit(LimitType.USER_ID, '2/m', { name: 'again' })
  again() {}
}

@Controller()
@UseGuards(RateLimitGuard)
@RateLimit(LimitType.IP, '2/m')
class TwiceGuardedController {
  @Get('twice')
  @UseGuards(RateLimitGuard)
  twice() {}
}

@Controller()
class RouteGuardController {
  @Get('above')
  @UseGuards(AuthGuard)
  @RateLimit(LimitType.USER_ID, '2/m')
  above() {}

  @Get('below')
  @RateLimit(LimitType.USER_ID, '2/m')
  @UseGuards(AuthGuard)
  below() {}
}

@Controller()
@UseGuards(AuthGuard)
class GuardedController {
  @Get('inside')
  @RateLimit(LimitType.USER_ID, '2/m')
  inside() {}
}

@Controller()
class EarlyController {
  @Get('early')
  @UseGuards(AuthGuard)
  @RateLimit(LimitType.USER_ID, '2/m', { when: 'before' })
  early() {}
}

@Controller()
class Undecorated {
  @Get()
  get() {}
}

function userDefault() {
  return { type: LimitType.USER_ID, rules: '9/m' } as const;
}

const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
const warnings = () => warn.mock.calls.map(([text]) => String(text));
const opened: INestApplication[] = [];
afterEach(async () => {
  for (const app of opened.splice(0)) await app.close();
  warn.mockClear();
});

interface Setting {
  controllers: Type[];
  options?: SlidingWindowOptions;
  /** Where authentication for the whole application is imported or set up. */
  auth?: 'before' | 'after' | 'useGlobalGuards' | 'nowhere';
}

const limits = (options?: SlidingWindowOptions) => SlidingWindowModule.forRoot(options);
const imports = {
  before: (options?: SlidingWindowOptions) => [AuthModule, limits(options)],
  after: (options?: SlidingWindowOptions) => [limits(options), AuthModule],
  useGlobalGuards: (options?: SlidingWindowOptions) => [limits(options)],
  nowhere: (options?: SlidingWindowOptions) => [limits(options)],
};

async function start(platform: Platform, { controllers, options, auth = 'nowhere' }: Setting) {
  const module = await Test.createTestingModule({
    imports: imports[auth](options),
    controllers,
  }).compile();
  const app =
    platform === 'express'
      ? module.createNestApplication(new ExpressAdapter(), { logger: false })
      : module.createNestApplication<NestFastifyApplication>(new FastifyAdapter(), {
          logger: false,
        });
  if (auth === 'useGlobalGuards') app.useGlobalGuards(new AuthGuard());
  opened.push(app);
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  return async (path: string, ...users: (string | undefined)[]) => {
    const codes: number[] = [];
    for (const user of users) {
      const headers: Record<string, string> = user === undefined ? {} : { 'x-user': user };
      codes.push((await fetch(url + path, { headers })).status);
    }
    return codes;
  };
}

describe.each(['express', 'fastify'] as const)('with guards of others, %s,', (platform) => {
  describe.each(['before', 'after', 'useGlobalGuards'] as const)(
    'authentication for the application, set up %s the module,',
    (auth) => {
      const begin = () => start(platform, { controllers: [BareController], auth });

      it('has a policy of type USER_ID count the user', async () => {
        const ask = await begin();
        expect(await ask('/user', 'ann', 'ann', 'ann', 'bob')).toEqual([200, 200, 429, 200]);
        expect(warnings()).toEqual([]);
      });

      it('is behind limits by address: what it refuses is counted', async () => {
        const ask = await begin();
        expect(await ask('/address', undefined, undefined, undefined)).toEqual([401, 401, 429]);
      });

      it('stands between two policies of a handler, each charged once', async () => {
        const ask = await begin();
        expect(await ask('/both', 'ann', 'ann', 'ann')).toEqual([200, 200, 429]);
        // The denied request has given back what it took of the address.
        expect(await ask('/both', 'bob', 'bob')).toEqual([200, 429]);
      });

      it('is no reason to charge twice where our guard stands several times', async () => {
        const ask = await begin();
        expect(await ask('/again', 'ann', 'ann', 'ann')).toEqual([200, 200, 429]);
      });
    },
  );

  it('charges once with our guard on the application, the controller and the handler', async () => {
    const ask = await start(platform, { controllers: [TwiceGuardedController] });
    expect(await ask('/twice', 'ann', 'ann', 'ann')).toEqual([200, 200, 429]);
  });

  it('charges once with no guard of ours on the application', async () => {
    const options = { globalGuard: false };
    const ask = await start(platform, { controllers: [TwiceGuardedController], options });
    expect(await ask('/twice', 'ann', 'ann', 'ann')).toEqual([200, 200, 429]);
  });

  it.each(['/above', '/below'])('counts the user behind a guard of the route: %s', async (path) => {
    const ask = await start(platform, { controllers: [RouteGuardController] });
    expect(await ask(path, 'ann', 'ann', 'ann', 'bob')).toEqual([200, 200, 429, 200]);
    expect(warnings()).toEqual([]);
  });

  it('counts the user behind a guard of the controller', async () => {
    const ask = await start(platform, { controllers: [GuardedController] });
    expect(await ask('/inside', 'ann', 'ann', 'ann', 'bob')).toEqual([200, 200, 429, 200]);
    expect(warnings()).toEqual([]);
  });
});

describe('a policy of type USER_ID that would not know the user', () => {
  it("is told at boot where it runs before authentication with when: 'before'", async () => {
    const ask = await start('express', { controllers: [EarlyController] });
    expect(warnings()).toEqual([
      expect.stringMatching(
        /EarlyController\.early @RateLimit \(policy "EarlyController-early"\): counts users before authentication.*Leave out `when`.*getUserId/,
      ),
    ]);
    // What the log says is so: addresses are counted.
    expect(await ask('/early', 'ann', 'bob', 'cid')).toEqual([200, 200, 429]);
    expect(warnings()).toHaveLength(1);
  });

  it('is told at boot where no guard stands before it', async () => {
    await start('express', { controllers: [BareController] });
    expect(warnings()).toEqual([
      expect.stringMatching(
        /BareController\.user .*BareController\.both .*"both-user".*BareController\.again .*no guard runs before it/,
      ),
    ]);
    expect(warnings()[0]).not.toContain('BareController.address');
  });

  it("is told of the module's default with when: 'before'", async () => {
    await start('fastify', {
      controllers: [GuardedController],
      options: { default: { type: 'user-id', rules: '9/m', when: 'before' } },
    });
    expect(warnings()).toEqual([]);
    await start('fastify', {
      controllers: [Undecorated],
      options: { default: { type: 'user-id', rules: '9/m', when: 'before' } },
    });
    expect(warnings()).toEqual([
      expect.stringMatching(/option default, at Undecorated\.get .*counts users before auth/),
    ]);
  });

  it.each([
    ['the application says where the user is found', { getUserId: () => 'ann' }, [EarlyController]],
    ['no guard runs for the application', { globalGuard: false }, [EarlyController]],
    ['a default reaches a public handler', { default: userDefault() }, [Undecorated]],
  ])('is nothing to tell about where %s', async (_, options, controllers) => {
    await start('express', { controllers, options });
    expect(warnings()).toEqual([]);
  });
});
