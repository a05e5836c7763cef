import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  type INestApplication,
  Injectable,
  Module,
  Post,
  RequestMethod,
  Version,
  VersioningType,
} from '@nestjs/common';
import { RouterModule } from '@nestjs/core';
import { Query, Resolver } from '@nestjs/graphql';
import { EventPattern, MessagePattern } from '@nestjs/microservices';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import {
  type InventoryRow,
  LimitType,
  RateLimit,
  SkipRateLimit,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import type { Platform } from '../support/app.js';

@Controller('orders')
@RateLimit('read')
class OrdersController {
  @Get(':id')
  find() {}

  @Post()
  @RateLimit(LimitType.IP, [
    { limit: 10, window: '1s' },
    { algorithm: 'fixed-window', limit: 100, window: '90s' },
  ])
  @RateLimit(LimitType.USER_ID, () => '5/m', { name: 'by-plan', shadow: true })
  create() {}

  @Get('health')
  @SkipRateLimit()
  health() {}

  @MessagePattern({ cmd: 'sum' })
  sum(_numbers: unknown) {}
}

@Controller(['cats', 'katzen'])
class CatsController {
  @Get()
  @Version('2')
  list() {}

  @EventPattern('cat.born')
  born(_cat: unknown) {}
}

@Injectable()
@WebSocketGateway()
class ChatGateway {
  @SubscribeMessage('say')
  @RateLimit(() => 'room', { algorithm: 'token-bucket', limit: 20, refill: 5, window: '1s' })
  say(_text: unknown) {}

  @SubscribeMessage('leave')
  leave(_reason: unknown) {}
}

@Resolver()
class CatsResolver {
  @Query(() => String, { name: 'cat' })
  one() {
    return 'Tom';
  }
}

@Module({ controllers: [CatsController] })
class CatsModule {}

const opened: INestApplication[] = [];
afterEach(async () => {
  for (const app of opened.splice(0)) await app.close();
});

async function create(platform: Platform, options: SlidingWindowOptions = {}) {
  const module = await Test.createTestingModule({
    imports: [
      SlidingWindowModule.forRoot({
        policies: { read: { type: 'ip', rules: '100/m' } },
        ...options,
      }),
      CatsModule,
      RouterModule.register([{ path: 'animals', module: CatsModule }]),
    ],
    controllers: [OrdersController],
    providers: [ChatGateway, CatsResolver],
  }).compile();
  const app =
    platform === 'express'
      ? module.createNestApplication(new ExpressAdapter())
      : module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  opened.push(app);
  return app;
}

const row = (route: string, handler: string, rest: Partial<InventoryRow> = {}): InventoryRow => ({
  route,
  handler,
  policy: '',
  type: '',
  rules: '',
  when: '',
  shadow: false,
  from: 'nowhere',
  ...rest,
});
const read = { policy: 'read', type: 'ip', rules: '100 per 1m', when: 'before' } as const;

describe.each(['express', 'fastify'] as const)('the inventory, %s', (platform) => {
  it('has every policy of every route, and the routes that have none', async () => {
    const app = await create(platform);
    app.setGlobalPrefix('api', { exclude: [{ path: 'orders/health', method: RequestMethod.GET }] });
    app.enableVersioning({ type: VersioningType.URI });
    const own = { rules: '10 per 1s, 100 per 90s fixed-window', when: 'before' } as const;
    const byPlan = { rules: 'by request', when: 'after', shadow: true } as const;
    const room = { policy: 'ChatGateway-say', type: 'custom', when: 'after' } as const;
    const expected = [
      row('GET /api/orders/:id', 'OrdersController.find', { ...read, from: 'controller' }),
      row('POST /api/orders', 'OrdersController.create', {
        ...{ policy: 'OrdersController-create', type: 'ip', ...own, from: 'handler' },
      }),
      row('POST /api/orders', 'OrdersController.create', {
        ...{ policy: 'by-plan', type: 'user-id', ...byPlan, from: 'handler' },
      }),
      row('GET /orders/health', 'OrdersController.health', { from: 'skipped' }),
      row('message {"cmd":"sum"}', 'OrdersController.sum', { ...read, from: 'controller' }),
      row('GET /api/v2/animals/cats', 'CatsController.list'),
      row('GET /api/v2/animals/katzen', 'CatsController.list'),
      row('event "cat.born"', 'CatsController.born'),
      row('socket "say"', 'ChatGateway.say', {
        ...{ ...room, rules: '20 at once, 5 per 1s token-bucket', from: 'handler' },
      }),
      row('socket "leave"', 'ChatGateway.leave'),
      row('Query cat', 'CatsResolver.one'),
    ];
    const found = SlidingWindowModule.inventory(app);
    expect(found).toHaveLength(expected.length);
    expect(found).toEqual(expect.arrayContaining(expected));
  });

  it('names the paths at which the application answers', async () => {
    const app = await create(platform);
    app.setGlobalPrefix('api');
    app.enableVersioning({ type: VersioningType.URI });
    await app.listen(0, '127.0.0.1');
    const gets = SlidingWindowModule.inventory(app)
      .map(({ route }) => route)
      .filter((route) => route.startsWith('GET /'));
    expect(gets).toHaveLength(4);
    for (const route of gets) {
      const path = route.slice('GET '.length).replace(':id', '7');
      expect((await fetch((await app.getUrl()) + path)).status).toBe(200);
    }
  });

  it("has the module's default where a route has nothing of its own", async () => {
    const app = await create(platform, {
      default: { type: 'ip', rules: '5/s' },
      globalGuard: false,
    });
    const found = SlidingWindowModule.inventory(app);
    const rest = { type: 'ip', rules: '5 per 1s', when: 'after', from: 'default' } as const;
    expect(found).toContainEqual(
      row('GET /animals/cats', 'CatsController.list', { ...rest, policy: 'CatsController-list' }),
    );
    expect(found).toContainEqual(
      row('GET /orders/health', 'OrdersController.health', { from: 'skipped' }),
    );
  });
});
