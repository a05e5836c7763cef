import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { CUT, FakeRespServer, resp } from '../support/fake-resp-server.js';
import { openServices, type Services } from '../support/services.js';

let fake: FakeRespServer;
let services: Services;

beforeEach(async () => {
  fake = await FakeRespServer.start((command) =>
    command[0] === 'eval' && command[1] === 'return 1' ? ':1\r\n' : resp([0, 1, 4, 0, 1000]),
  );
  services = await openServices('redis', {
    redis: { cluster: [{ host: '127.0.0.1', port: fake.port }] },
    timeout: '1s',
  });
});

afterEach(async () => {
  await services.close();
  await fake.stop();
});

/** Decisions that have reached the server; each connection is looked at as well. */
function decisions(): string[][] {
  return fake.calls.filter((call) => call[1] !== 'return 1');
}

const policy = { name: 'once', rules: '5/1s' } as const;

it('sends a decision to a node once', async () => {
  expect((await services.limiter.consume(policy, 'one')).source).toBe('redis');
  expect(decisions()).toHaveLength(1);
});

it('does not send again what may have run when the connection to a node broke', async () => {
  fake.reply = () => CUT;
  expect((await services.limiter.consume(policy, 'one')).source).toBe('fallback');
  // Longer than ioredis waits before it would send again.
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(decisions()).toHaveLength(1);
});
