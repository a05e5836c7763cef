import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Controller,
  Get,
  HttpCode,
  type INestApplication,
  Post,
  type Type,
  VersioningType,
} from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import {
  ApiNotFoundResponse,
  ApiProperty,
  ApiResponse,
  ApiTooManyRequestsResponse,
  DocumentBuilder,
  type OpenAPIObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import {
  LimitType,
  RateLimit,
  SkipRateLimit,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import type { Platform } from '../support/app.js';

class Cat {
  @ApiProperty()
  name!: string;
}

@Controller('orders')
class OrdersController {
  @Get()
  @RateLimit(LimitType.IP, '2/m')
  list() {}

  @Post()
  @RateLimit(LimitType.IP, '2/m')
  create() {}

  @Post('pay')
  @HttpCode(202)
  @RateLimit(LimitType.USER_ID, '2/m', { onStoreError: 'deny' })
  pay() {}

  @Get('plain')
  plain() {}

  @Get('watched')
  @RateLimit(LimitType.IP, '2/m', { shadow: true })
  watched() {}

  @Get('own')
  @ApiTooManyRequestsResponse({ description: 'Of the user' })
  @RateLimit(LimitType.IP, '2/m')
  own() {}

  @Get('typed')
  @ApiResponse({ status: 200, type: Cat })
  @ApiNotFoundResponse({ description: 'No such cat' })
  @RateLimit(LimitType.IP, '2/m')
  typed() {}
}

@Controller('class')
@RateLimit(LimitType.IP, '2/m')
class ClassController {
  @Get()
  get() {}

  @Get('skipped')
  @SkipRateLimit()
  skipped() {}
}

@Controller('class-own')
@ApiTooManyRequestsResponse({ description: 'Of the class' })
class ClassResponseController {
  @Get()
  @RateLimit(LimitType.IP, '2/m')
  get() {}
}

/** As the compiler plugin of @nestjs/swagger leaves a class. */
@Controller('compiled')
class CompiledController {
  static _OPENAPI_METADATA_FACTORY() {
    return {
      cat: { summary: 'A cat', type: Cat },
      cats: { type: [Cat], status: 206, description: 'Some' },
    };
  }

  @Get('cat')
  @RateLimit(LimitType.IP, '2/m')
  cat() {}

  @Get('cats')
  @RateLimit(LimitType.IP, '2/m')
  cats() {}
}

@Controller('loaded')
class LoadedController {
  @Get()
  @RateLimit(LimitType.IP, '2/m')
  get() {}
}

const opened: INestApplication[] = [];
afterEach(async () => {
  for (const app of opened.splice(0)) await app.close();
});

interface Setting {
  options?: SlidingWindowOptions;
  platform?: Platform;
  prepare?: (app: INestApplication) => unknown;
}

const all = [OrdersController, ClassController, ClassResponseController, CompiledController];

/** The responses in the document that SwaggerModule makes, by method and path. */
async function responses(
  controllers: Type[],
  { options = {}, platform = 'express', prepare }: Setting = {},
) {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options)],
    controllers,
  }).compile();
  const app =
    platform === 'express'
      ? module.createNestApplication(new ExpressAdapter())
      : module.createNestApplication<NestFastifyApplication>(new FastifyAdapter());
  opened.push(app);
  await prepare?.(app);
  const document: OpenAPIObject = SwaggerModule.createDocument(app, new DocumentBuilder().build());
  return (route: string): Record<string, any> => {
    const [method, path] = route.split(' ') as ['get' | 'post', string];
    return document.paths[path]![method]!.responses;
  };
}

describe.each(['express', 'fastify'] as const)('the OpenAPI document, %s', (platform) => {
  it('has 429 with its header fields for a limited handler, beside its success', async () => {
    const of = await responses(all, { platform });
    const document = of('get /orders');
    expect(Object.keys(document)).toEqual(['200', '429']);
    expect(document['200']).toEqual({ description: '' });
    expect(document['429'].description).toBe('Too many requests');
    expect(Object.keys(document['429'].headers)).toEqual([
      'RateLimit-Policy',
      'RateLimit',
      'Retry-After',
    ]);
    expect(document['429'].headers['Retry-After'].schema).toEqual({ type: 'integer', minimum: 1 });
    expect(document['429'].content['application/json'].schema.required).toEqual([
      'statusCode',
      'message',
      'error',
    ]);
    expect(Object.keys(of('post /orders'))).toEqual(['201', '429']);
  });

  it('has nothing of it for a handler that never denies', async () => {
    const of = await responses(all, { platform });
    for (const path of ['/orders/plain', '/orders/watched', '/class/skipped']) {
      expect(of(`get ${path}`)).toEqual({ 200: { description: '' } });
    }
    expect(of('get /class')).toHaveProperty('429');
  });

  it("has it for the module's default, with a global prefix and versions", async () => {
    const of = await responses([OrdersController], {
      platform,
      options: { default: { type: 'ip', rules: '9/m' } },
      prepare: (app) => app.setGlobalPrefix('api').enableVersioning({ type: VersioningType.URI }),
    });
    expect(of('get /api/orders/plain')).toHaveProperty('429');
    expect(of('get /api/orders')).toHaveProperty('429');
  });
});

describe('a documented denial', () => {
  it.each([
    ['legacy', ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After']],
    [false, ['Retry-After']],
    [
      'both',
      [
        'RateLimit-Policy',
        'RateLimit',
        'X-RateLimit-Limit',
        'X-RateLimit-Remaining',
        'X-RateLimit-Reset',
        'Retry-After',
      ],
    ],
  ] as const)('has the fields of headers: %s', async (headers, names) => {
    const of = await responses(all, { options: { headers } });
    expect(Object.keys(of('get /orders')['429'].headers)).toEqual(names);
  });

  it('has problem details where they are sent', async () => {
    const of = await responses(all, { options: { problemDetails: true } });
    const { content } = of('get /orders')['429'];
    expect(Object.keys(content)).toEqual(['application/problem+json']);
    expect(content['application/problem+json'].schema.required).toEqual([
      'type',
      'title',
      'status',
      'detail',
      'violated-policies',
    ]);
  });

  it("has 503 beside it where onStoreError is 'deny'", async () => {
    expect(Object.keys((await responses(all))('post /orders/pay'))).toEqual(['202', '429', '503']);
    const of = await responses(all, { options: { onStoreError: 'deny' } });
    expect(Object.keys(of('get /orders'))).toEqual(['200', '429', '503']);
  });

  it("gives way to the user's own", async () => {
    const of = await responses(all);
    expect(of('get /orders/own')).toEqual({ 429: { description: 'Of the user' } });
    expect(of('get /class-own')).toEqual({
      200: { description: '' },
      429: { description: 'Of the class' },
    });
  });

  it("leaves the user's other responses as they are", async () => {
    const document = (await responses(all))('get /orders/typed');
    expect(Object.keys(document)).toEqual(['200', '404', '429']);
    expect(document['404']).toEqual({ description: 'No such cat' });
    expect(document['200'].content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/Cat',
    });
  });

  it('leaves what the compiler plugin has found, in the class or loaded', async () => {
    const of = await responses(all);
    const cat = { $ref: '#/components/schemas/Cat' };
    const json = (document: any) => document.content['application/json'].schema as unknown;
    expect(Object.keys(of('get /compiled/cat'))).toEqual(['200', '429']);
    expect(json(of('get /compiled/cat')['200'])).toEqual(cat);
    expect(Object.keys(of('get /compiled/cats'))).toEqual(['206', '429']);
    expect(of('get /compiled/cats')['206'].description).toBe('Some');
    expect(json(of('get /compiled/cats')['206'])).toEqual({ type: 'array', items: cat });
    const loaded = await responses([LoadedController], {
      prepare: () =>
        SwaggerModule.loadPluginMetadata(async () => ({
          '@nestjs/swagger': {
            models: [],
            controllers: [
              [Promise.resolve({ LoadedController }), { LoadedController: { get: { type: Cat } } }],
            ],
          },
        })),
    });
    expect(Object.keys(loaded('get /loaded'))).toEqual(['200', '429']);
    expect(json(loaded('get /loaded')['200'])).toEqual(cat);
  });

  it('is that of its own application, also where two share a controller', async () => {
    await responses(all, { options: { headers: 'both', default: { type: 'ip', rules: '9/m' } } });
    const of = await responses(all, { options: { headers: false } });
    expect(Object.keys(of('get /orders')['429'].headers)).toEqual(['Retry-After']);
    expect(of('get /orders/plain')).toEqual({ 200: { description: '' } });
    expect(Object.keys(of('get /orders/typed')['429'].headers)).toEqual(['Retry-After']);
  });
});
