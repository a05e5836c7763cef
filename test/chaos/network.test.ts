import { ChaosProxy, type ChaosMode } from '../support/chaos-proxy.js';
import { describeFault, type Fault } from '../support/chaos.js';
import { startRedis } from '../support/redis-server.js';

async function behindProxy(mode: ChaosMode, ms?: number): Promise<Fault> {
  const server = await startRedis();
  const proxy = await ChaosProxy.start(server.port);
  return {
    redis: proxy.url,
    on: () => proxy.set(mode, ms),
    off: () => proxy.set('pass'),
    close: async () => {
      await proxy.stop();
      await server.stop('SIGKILL');
    },
  };
}

describeFault('a connection that stalls', () => behindProxy('stall'));
describeFault('connections that are refused', () => behindProxy('refuse'));
describeFault('connections that are reset', () => behindProxy('reset'));
describeFault('replies that are cut', () => behindProxy('cut-reply'));
describeFault('replies that trickle in', () => behindProxy('trickle', 20));
describeFault('a latency of 80 ms', () => behindProxy('latency', 80), { works: true });
