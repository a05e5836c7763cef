import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { type DynamicModule, type INestApplication, Logger } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { type Client, createClient } from 'graphql-ws';
import { parseList } from 'structured-headers';
import { WebSocket } from 'ws';
import { LimitType, SlidingWindowModule, type SlidingWindowOptions } from '../../lib/index.js';
import { ManualClock } from '../../lib/testing/manual-clock.js';
import { caught, closeAll, closeAppLater, closeLater } from './contexts.js';
import { HeaderAuthGuard, ItemResolver, LimitedResolver } from './resolvers.js';

interface GraphqlError {
  message: string;
  path?: string[];
  extensions?: Record<string, unknown>;
}

export interface GraphqlSuite {
  readonly module: () => DynamicModule;
  create(module: TestingModule): INestApplication;
}

async function start(
  suite: GraphqlSuite,
  options: SlidingWindowOptions,
): Promise<INestApplication> {
  const module = await Test.createTestingModule({
    imports: [SlidingWindowModule.forRoot(options), suite.module()],
    providers: [LimitedResolver, ItemResolver, HeaderAuthGuard],
  }).compile();
  const app = closeAppLater(suite.create(module));
  await app.listen(0, '127.0.0.1');
  return app;
}

/** What holds for resolvers on every driver. */
export function describeGraphql(suite: GraphqlSuite): void {
  let url: string;
  let clock: ManualClock;
  beforeAll(async () => {
    clock = new ManualClock();
    const app = await start(suite, { clock, default: { type: LimitType.IP, rules: '1/m' } });
    url = `${await app.getUrl()}/graphql`;
  });
  afterAll(closeAll);

  async function ask(query: string, user?: string) {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(user && { 'x-user': user }) },
      body: JSON.stringify({ query }),
    });
    const { data, errors = [] } = (await response.json()) as {
      data: Record<string, any> | null;
      errors?: GraphqlError[];
    };
    return { data, errors, codes: errors.map(({ extensions }) => extensions?.code), response };
  }

  function subscribe(query: string): AsyncIterableIterator<any> {
    const client: Client = createClient({
      url: url.replace('http', 'ws'),
      webSocketImpl: WebSocket,
      retryAttempts: 0,
    });
    closeLater(() => client.dispose());
    return client.iterate({ query });
  }

  it('denies by an error with a code', async () => {
    expect((await ask('{ ip }')).data).toEqual({ ip: 'ok' });
    expect((await ask('{ ip }')).data).toEqual({ ip: 'ok' });
    const { data, errors } = await ask('{ ip }');
    expect(data).toBeNull();
    expect(errors).toHaveLength(1);
    expect(errors[0]!.message).toBe('Too Many Requests');
    expect(errors[0]!.path).toEqual(['ip']);
    expect(errors[0]!.extensions).toMatchObject({
      code: 'RATE_LIMITED',
      retryAfterMs: 60_000,
      violatedPolicies: ['LimitedResolver-ip'],
    });
    expect(JSON.stringify(errors)).not.toContain('127.0.0.1');
  });

  it('leaves the log of errors to the handlers', async () => {
    const errors: unknown[] = [];
    const ignore = () => undefined;
    Logger.overrideLogger({ log: ignore, warn: ignore, error: (one) => errors.push(one) });
    try {
      expect((await ask('{ ip }')).codes).toEqual(['RATE_LIMITED']);
      expect(errors).toEqual([]);
      expect((await ask('{ broken }')).codes).toHaveLength(1);
      expect(errors).toHaveLength(1);
    } finally {
      Logger.overrideLogger(false);
    }
  });

  it('counts the user after authentication and the address before it', async () => {
    expect((await ask('{ user }', 'ann')).data).toEqual({
      user: 'user-ip=127.0.0.1,user-id=ann',
    });
    caught.length = 0;
    const { errors } = await ask('{ user }', 'ann');
    expect(errors[0]).toMatchObject({
      message: 'not so fast',
      extensions: { code: 'RATE_LIMITED', violatedPolicies: ['user-id'] },
    });
    expect(JSON.stringify(errors)).not.toMatch(/"[^"]*ann\b/);
    // The server's filters know whom it was.
    expect(caught[0]!.decision?.policies).toContainEqual(
      expect.objectContaining({ name: 'user-id', subject: 'ann', allowed: false }),
    );
    expect((await ask('{ user }', 'bob')).errors).toEqual([]);
    // Ann's second call gave back what it took by address; those without a user count.
    for (let i = 0; i < 3; i++) expect((await ask('{ user }')).codes).not.toContain('RATE_LIMITED');
    expect((await ask('{ user }')).codes).toEqual(['RATE_LIMITED']);
  });

  it('charges each call of a resolver in an operation, aliases too', async () => {
    const { data } = await ask('{ first: a second: a b }');
    expect(Object.keys(data!)).toEqual(['first', 'second', 'b']);
    expect((await ask('{ a }')).data).toEqual({ a: '127.0.0.1 6' });
    const names = Array.from({ length: 8 }, (_, i) => `a${i}: a`);
    const { codes } = await ask(`{ ${names.join(' ')} }`);
    expect(codes).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
  });

  it('does not let a list of attempts pass as one', async () => {
    const attempts = Array.from({ length: 9 }, (_, i) => `a${i}: login(password: "guess-${i}")`);
    for (const attempt of attempts.slice(0, 2)) await ask(`mutation { ${attempt} }`);
    const { codes } = await ask(`mutation { ${attempts.slice(2).join(' ')} }`);
    expect(codes.filter((code) => code === 'RATE_LIMITED')).toHaveLength(6);
    clock.advance('1m');
  });

  it('counts by how the resolver ended', async () => {
    const right = 'mutation { login(password: "right") }';
    const wrong = 'mutation { login(password: "wrong") }';
    for (let i = 0; i < 5; i++) expect((await ask(right)).data).toEqual({ login: true });
    for (let i = 0; i < 3; i++) expect((await ask(wrong)).codes).not.toContain('RATE_LIMITED');
    expect((await ask(right)).codes).toEqual(['RATE_LIMITED']);
    clock.advance('1m');
  });

  it('tells the policies of all calls in the header fields of the response', async () => {
    const { response } = await ask('{ ip x: a y: a b }');
    const names = (field: string) => parseList(response.headers.get(field)!).map(([name]) => name);
    expect(names('ratelimit-policy').sort()).toEqual(['LimitedResolver-ip', 'b', 'shared']);
    expect(names('ratelimit').sort()).toEqual(['LimitedResolver-ip', 'b', 'shared']);
    expect(response.headers.get('retry-after')).toBeNull();
  });

  it("applies the class's limit to its queries, not to the fields of the objects", async () => {
    for (let i = 0; i < 2; i++) {
      expect((await ask('{ items { id title } }')).data!.items).toHaveLength(3);
    }
    expect((await ask('{ items { id } }')).codes).toEqual(['RATE_LIMITED']);
    clock.advance('1m');
  });

  it('limits a field by its own decorator, for each object', async () => {
    expect((await ask('{ items { price } }')).codes).toEqual([]);
    const { data, codes } = await ask('{ items { price } }');
    expect(codes).toEqual(['RATE_LIMITED', 'RATE_LIMITED']);
    expect(data!.items.filter(({ price }: { price: unknown }) => price !== null)).toHaveLength(1);
  });

  it("applies the module's default, and skips what is skipped", async () => {
    expect((await ask('{ byDefault }')).codes).toEqual([]);
    expect((await ask('{ byDefault }')).codes).toEqual(['RATE_LIMITED']);
    for (let i = 0; i < 3; i++) expect((await ask('{ skipped }')).codes).toEqual([]);
  });

  it('needs no guard for the whole application', async () => {
    const own = await start(suite, {
      globalGuard: false,
      default: { type: LimitType.IP, rules: '1/m' },
    });
    const path = `${await own.getUrl()}/graphql?query=`;
    const codes = async (query: string) => {
      const response = await fetch(path + encodeURIComponent(query), {
        headers: { 'apollo-require-preflight': 'true' },
      });
      const { errors = [] } = (await response.json()) as { errors?: GraphqlError[] };
      return errors.map(({ extensions }) => extensions?.code);
    };
    for (const query of ['{ byDefault }', '{ ip }', '{ ip }'])
      expect(await codes(query)).toEqual([]);
    for (const query of ['{ byDefault }', '{ ip }']) {
      expect(await codes(query)).toEqual(['RATE_LIMITED']);
    }
  });

  it('says that it is not available where nobody can decide', async () => {
    const { errors } = await ask('{ closed }');
    expect(errors[0]!.extensions).toMatchObject({
      code: 'RATE_LIMIT_UNAVAILABLE',
      retryAfterMs: 1000,
    });
  });

  it('decides on a subscription when it begins, not on its events', async () => {
    for (let i = 0; i < 2; i++) {
      const values: number[] = [];
      for await (const { data } of subscribe('subscription { ticks }')) values.push(data.ticks);
      expect(values).toEqual([1, 2, 3, 4, 5]);
    }
    // The servers tell it in one of two ways: as a result with errors, or as an error of the stream.
    const [errors] = await first(subscribe('subscription { ticks }'));
    expect(errors).toMatchObject({
      message: 'Too Many Requests',
      extensions: { code: 'RATE_LIMITED', violatedPolicies: ['ticks'] },
    });
  });

  it('finds the address of a subscriber', async () => {
    for await (const { data } of subscribe('subscription { who }')) {
      expect(data.who).toBe('127.0.0.1');
    }
    expect.assertions(1);
  });
}

async function first(results: AsyncIterableIterator<any>): Promise<GraphqlError[]> {
  try {
    for await (const { errors } of results) return errors;
  } catch (error) {
    return error as GraphqlError[];
  }
  return [];
}
