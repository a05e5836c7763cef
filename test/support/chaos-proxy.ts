import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * What a proxy does with what passes:
 * - `pass`: forwards both ways
 * - `stall`: accepts and keeps connections, forwards nothing either way until the mode changes
 * - `refuse`: no listener; what is open is closed
 * - `reset`: connections, open and new, are ended by RST
 * - `cut-reply`: requests reach the server; when a reply comes, the connection is cut instead
 * - `latency`: replies come `ms` later
 * - `trickle`: replies come one byte at a time, every `ms`
 */
export type ChaosMode = 'pass' | 'stall' | 'refuse' | 'reset' | 'cut-reply' | 'latency' | 'trickle';

/** A TCP proxy before a server, whose mode a test changes while it runs. */
export class ChaosProxy {
  /** Since the start: connections accepted, connections cut by the proxy, bytes from each side. */
  readonly counts = { accepted: 0, cut: 0, requestBytes: 0, replyBytes: 0 };
  private readonly links = new Set<Link>();
  private mode: ChaosMode = 'pass';
  private delayMs = 0;
  private server: Server | undefined;

  private constructor(
    readonly port: number,
    /** The port that is forwarded to, for connections from now on. */
    public target: number,
  ) {}

  /** Listens on a free port and forwards to `target` of this machine. */
  static async start(target: number): Promise<ChaosProxy> {
    const server = await listen(0);
    const proxy = new ChaosProxy((server.address() as AddressInfo).port, target);
    proxy.adopt(server);
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** From now on; `ms` is the delay of `latency` and `trickle`. */
  async set(mode: ChaosMode, ms = 0): Promise<void> {
    this.mode = mode;
    this.delayMs = ms;
    if (mode === 'refuse') await this.closeListener();
    else if (this.server === undefined) this.adopt(await listen(this.port));
    for (const link of [...this.links]) {
      if (mode === 'refuse') link.cut('close');
      else if (mode === 'reset') link.cut('reset');
      else link.resume();
    }
  }

  async stop(): Promise<void> {
    for (const link of [...this.links]) link.cut('close');
    await this.closeListener();
  }

  private adopt(server: Server): void {
    this.server = server;
    server.on('connection', (client) => this.accept(client));
  }

  private accept(client: Socket): void {
    this.counts.accepted++;
    if (this.mode === 'reset') {
      this.counts.cut++;
      client.on('error', () => undefined);
      client.resetAndDestroy();
      return;
    }
    const link = new Link(client, connect({ port: this.target, host: '127.0.0.1' }), {
      mode: () => this.mode,
      delayMs: () => this.delayMs,
      counts: this.counts,
      closed: (one) => this.links.delete(one),
    });
    this.links.add(link);
  }

  private async closeListener(): Promise<void> {
    const { server } = this;
    if (server === undefined) return;
    this.server = undefined;
    server.close();
    for (const link of [...this.links]) link.cut('close');
    await once(server, 'close');
  }
}

/** What a link asks of its proxy. */
interface Rules {
  mode(): ChaosMode;
  delayMs(): number;
  readonly counts: ChaosProxy['counts'];
  closed(link: Link): void;
}

/** One client's connection and the one to the server behind it. */
class Link {
  private readonly timers = new Set<NodeJS.Timeout>();
  /** When what has last been delayed goes out, so that nothing overtakes it. */
  private lastAt = 0;

  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly rules: Rules,
  ) {
    client.setNoDelay(true);
    server.setNoDelay(true);
    for (const socket of [client, server]) {
      socket.on('error', () => undefined);
      socket.on('close', () => this.cut('close', false));
    }
    client.on('data', (chunk: Buffer) => {
      rules.counts.requestBytes += chunk.length;
      server.write(chunk);
    });
    server.on('data', (chunk: Buffer) => this.reply(chunk));
    this.resume();
  }

  /** Stalled sockets are not read: the kernel's buffers fill, as with a server that hangs. */
  resume(): void {
    for (const socket of [this.client, this.server]) {
      if (this.rules.mode() === 'stall') socket.pause();
      else socket.resume();
    }
  }

  cut(how: 'close' | 'reset', counted = true): void {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    this.rules.closed(this);
    if (counted) this.rules.counts.cut++;
    if (how === 'reset') this.client.resetAndDestroy();
    else this.client.destroy();
    this.server.destroy();
  }

  private reply(chunk: Buffer): void {
    this.rules.counts.replyBytes += chunk.length;
    const mode = this.rules.mode();
    if (mode === 'cut-reply') return this.cut('reset');
    if (mode === 'latency') return this.later(chunk, this.rules.delayMs());
    if (mode === 'trickle') {
      for (const byte of chunk) this.later(Buffer.of(byte), this.rules.delayMs(), true);
      return;
    }
    this.later(chunk, 0);
  }

  /** `apart`: that long after what was sent before, not only after now. */
  private later(chunk: Buffer, ms: number, apart = false): void {
    const now = performance.now();
    const at = Math.max(now + ms, this.lastAt + (apart ? ms : 0));
    if (at <= now && this.timers.size === 0) {
      this.client.write(chunk);
      return;
    }
    this.lastAt = at;
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      this.client.write(chunk);
    }, at - now);
    this.timers.add(timer);
  }
}

async function listen(port: number): Promise<Server> {
  const server = createServer().listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
