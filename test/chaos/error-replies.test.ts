import { describeFault, type Fault } from '../support/chaos.js';
import { ChaosProxy } from '../support/chaos-proxy.js';
import { FakeRespServer, respError, SERVER_ERRORS } from '../support/fake-resp-server.js';
import { startRedis } from '../support/redis-server.js';

/** A real server, and for a while one that answers every script with these bytes. */
async function answering(bytes: string): Promise<Fault> {
  const server = await startRedis();
  const fake = await FakeRespServer.start(bytes);
  const proxy = await ChaosProxy.start(server.port);
  const divert = async (port: number) => {
    proxy.target = port;
    await proxy.set('refuse');
    await proxy.set('pass');
  };
  return {
    redis: proxy.url,
    on: () => divert(fake.port),
    off: () => divert(server.port),
    close: async () => {
      await proxy.stop();
      await fake.stop();
      await server.stop('SIGKILL');
    },
  };
}

for (const [name, text] of Object.entries(SERVER_ERRORS)) {
  describeFault(`a server that answers ${name}`, () => answering(respError(text)));
}
