import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Controller, Get, type INestApplication, Logger } from '@nestjs/common';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import type { AddressInfo } from 'node:net';
import {
  LimitType,
  RateLimit,
  SlidingWindowModule,
  type SlidingWindowOptions,
} from '../../lib/index.js';
import type { Platform } from '../support/app.js';

@Controller()
class AddressController {
  @Get()
  @RateLimit(LimitType.IP, '2/m')
  get(): string {
    return 'ok';
  }
}

const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
const opened: INestApplication[] = [];
afterEach(async () => {
  for (const app of opened.splice(0)) await app.close();
  warn.mockClear();
});

interface Setting {
  trust?: unknown;
  host?: string;
  options?: SlidingWindowOptions;
}

async function start(platform: Platform, { trust, host = '127.0.0.1', options = {} }: Setting) {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options)],
    controllers: [AddressController],
  }).compile();
  const app =
    platform === 'express'
      ? module.createNestApplication<NestExpressApplication>(new ExpressAdapter())
      : module.createNestApplication<NestFastifyApplication>(
          new FastifyAdapter({ trustProxy: trust as string }),
        );
  if (platform === 'express' && trust !== undefined) {
    (app as NestExpressApplication).set('trust proxy', trust);
  }
  app.useLogger(false);
  opened.push(app);
  await app.listen(0, host);
  const { port } = app.getHttpServer().address() as AddressInfo;
  return {
    async status(headers: Record<string, string> = {}, address = '127.0.0.1') {
      return (await fetch(`http://${address}:${port}/`, { headers })).status;
    },
    async statuses(all: Record<string, string>[]) {
      const codes: number[] = [];
      for (const headers of all) codes.push(await this.status(headers));
      return codes;
    },
  };
}

const warnings = () => warn.mock.calls.map(([text]) => String(text));
const forwarded = (...ips: string[]) => ips.map((ip) => ({ 'x-forwarded-for': ip }));

describe.each(['express', 'fastify'] as const)('the address of a client, %s', (platform) => {
  it('is not the one that a client writes itself: rotating X-Forwarded-For changes nothing', async () => {
    const app = await start(platform, {});
    expect(await app.statuses(forwarded('6.6.6.1', '6.6.6.2', '6.6.6.3'))).toEqual([200, 200, 429]);
  });

  it('is the one that a trusted proxy names', async () => {
    const app = await start(platform, { trust: 'loopback' });
    const codes = await app.statuses(forwarded('6.6.6.1', '6.6.6.1', '6.6.6.1', '6.6.6.2'));
    expect(codes).toEqual([200, 200, 429, 200]);
    expect(await app.statuses(forwarded('9.9.9.9, 6.6.6.1', '9.9.9.8, 6.6.6.1'))).toEqual([
      429, 429,
    ]);
    expect(warnings()).toEqual([]);
  });

  it('has one budget over IPv4 and over IPv6 in which IPv4 is mapped', async () => {
    const app = await start(platform, { host: '::' });
    expect(await app.status({}, '127.0.0.1')).toBe(200);
    expect(await app.status({}, '[::ffff:127.0.0.1]')).toBe(200);
    expect(await app.status({}, '[::ffff:7f00:1]')).toBe(429);
    expect(await app.status({}, '[::1]')).toBe(200);
  });

  it('has one budget in all of a /64: 1 000 addresses of it are one client', async () => {
    const app = await start(platform, { trust: 'loopback' });
    const addresses = Array.from(
      { length: 1000 },
      (_, i) => `2001:db8:1:2:${((i * 7919) & 0xffff).toString(16)}:${i.toString(16)}::1`,
    );
    expect(new Set(addresses).size).toBe(1000);
    const codes = await app.statuses(forwarded(...addresses));
    expect(codes.filter((code) => code === 200)).toHaveLength(2);
    expect(await app.statuses(forwarded('2001:db8:2::1'))).toEqual([200]);
  });

  it("is told at boot to be of the client's choice where everybody is trusted", async () => {
    const app = await start(platform, { trust: true });
    expect(warnings()).toEqual([expect.stringMatching(/every proxy is trusted.*loopback/i)]);
    await app.statuses(forwarded('6.6.6.1', '6.6.6.2'));
    expect(warnings()).toHaveLength(1);
  });

  it.each([
    ['x-forwarded-for', '6.6.6.6'],
    ['forwarded', 'for=6.6.6.6'],
    ['x-real-ip', '6.6.6.6'],
  ])("is told once to be the proxy's when %s comes and none is trusted", async (name, value) => {
    const app = await start(platform, {});
    await app.status();
    expect(warnings()).toEqual([]);
    await app.statuses([{ [name]: value }, { [name]: value }, {}]);
    expect(warnings()).toEqual([expect.stringContaining(`${name}, and no proxy is trusted`)]);
  });

  it('is told once in each application', async () => {
    for (let i = 0; i < 2; i++) {
      await (await start(platform, {})).statuses(forwarded('6.6.6.6', '6.6.6.6'));
    }
    expect(warnings()).toHaveLength(2);
  });

  it('is nothing to tell about where the application takes it from elsewhere', async () => {
    const options: SlidingWindowOptions = {
      getIp: (context) =>
        context.switchToHttp().getRequest<{ headers: Record<string, string> }>().headers[
          'cf-connecting-ip'
        ],
    };
    const app = await start(platform, { trust: true, options });
    const from = (ip: string) => ({ 'cf-connecting-ip': ip, ...forwarded('6.6.6.6')[0] });
    expect(
      await app.statuses(['1.1.1.1', '::ffff:1.1.1.1', '1.1.1.1', '2.2.2.2'].map(from)),
    ).toEqual([200, 200, 429, 200]);
    expect(warnings()).toEqual([]);
  });
});

describe('a number of hops', () => {
  it('is told at boot to be ignored by Fastify, where every client is the proxy', async () => {
    const app = await start('fastify', { trust: 1 });
    expect(warnings()).toEqual([expect.stringMatching(/ignore a number in trustProxy/)]);
    expect(await app.statuses(forwarded('6.6.6.1', '6.6.6.2', '6.6.6.3'))).toEqual([200, 200, 429]);
    expect(warnings()).toHaveLength(1);
  });

  it('is kept by Express', async () => {
    const app = await start('express', { trust: 1 });
    expect(await app.statuses(forwarded('9.9.9.9, 6.6.6.1', '9.9.9.8, 6.6.6.1'))).toEqual([
      200, 200,
    ]);
    expect(await app.statuses(forwarded('6.6.6.1', '6.6.6.2'))).toEqual([429, 200]);
    expect(warnings()).toEqual([]);
  });
});

describe("an application with a function of its own for Express' trust", () => {
  it('is not judged', async () => {
    const app = await start('express', { trust: (address: string) => address === '127.0.0.1' });
    await app.statuses(forwarded('6.6.6.6'));
    expect(warnings()).toEqual([]);
  });
});
