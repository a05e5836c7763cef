import { type ExecutionContext, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { HttpAdapterHost } from '@nestjs/core';

type GetIp = (context: ExecutionContext) => unknown;

/** What the platform was told about proxies. */
type Trust = 'everybody' | 'a hop count that is ignored' | 'nobody' | 'somebody';

/** Fields in which a proxy names the client. */
const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-real-ip'] as const;

const TRUST_ALL =
  'Every proxy is trusted, so each client chooses the address it is counted by (X-Forwarded-For). Name the proxies instead: ';
const CURES = {
  express: `app.set('trust proxy', 'loopback') or their addresses`,
  fastify: `new FastifyAdapter({ trustProxy: 'loopback' }) or their addresses`,
};

/**
 * Tells once, in the log, when `request.ip` cannot be the client's address: known at boot where the
 * platform's settings say so, else at the first request that a proxy has forwarded.
 */
export class ProxyWarnings implements OnApplicationBootstrap {
  private readonly logger = new Logger('RateLimit');
  private watching = false;

  constructor(
    private readonly host: HttpAdapterHost,
    /** The address comes from the user's own `getIp`: nothing to tell. */
    private readonly ownAddress: boolean,
  ) {}

  onApplicationBootstrap(): void {
    const platform = this.host.httpAdapter?.getType();
    if (this.ownAddress || (platform !== 'express' && platform !== 'fastify')) return;
    const instance: unknown = this.host.httpAdapter.getInstance();
    const trust = platform === 'express' ? expressTrust(instance) : fastifyTrust(instance);
    if (trust === 'everybody') this.logger.warn(TRUST_ALL + CURES[platform]);
    if (trust === 'a hop count that is ignored') {
      this.logger.warn(
        'Fastify 5.12.1 and later ignore a number in trustProxy: every client has the address of ' +
          `the proxy. Name the proxies: ${CURES.fastify}`,
      );
    }
    this.watching = trust === 'nobody';
  }

  /** `getIp`, watched until the first forwarded request has been told, or for good if none needs to be. */
  watch(getIp: GetIp): GetIp {
    return (context) => {
      if (this.watching && context.getType() === 'http') this.look(context);
      return getIp(context);
    };
  }

  private look(context: ExecutionContext): void {
    const headers = context
      .switchToHttp()
      .getRequest<{ headers?: Record<string, unknown> } | undefined>()?.headers;
    const field = FORWARDED.find((name) => headers?.[name] !== undefined);
    if (field === undefined) return;
    this.watching = false;
    const platform = this.host.httpAdapter.getType() as keyof typeof CURES;
    this.logger.warn(
      `A request has the header field ${field}, and no proxy is trusted: clients behind one proxy ` +
        `share its address, and its budget. If there is a proxy, name it: ${CURES[platform]}`,
    );
  }
}

function expressTrust(instance: unknown): Trust {
  const trust = (instance as { get(setting: string): unknown }).get('trust proxy');
  if (trust === true) return 'everybody';
  return trust ? 'somebody' : 'nobody';
}

/** Fastify tells its options nowhere else. */
function fastifyTrust(instance: unknown): Trust {
  const key = Object.getOwnPropertySymbols(instance).find(
    ({ description }) => description === 'fastify.options',
  );
  if (key === undefined) return 'somebody';
  const { trustProxy } = (instance as Record<symbol, { trustProxy?: unknown }>)[key]!;
  if (trustProxy === true) return 'everybody';
  if (typeof trustProxy === 'number' && trustProxy > 0) return 'a hop count that is ignored';
  return trustProxy ? 'somebody' : 'nobody';
}
