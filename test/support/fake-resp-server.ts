import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';

/** Instead of an answer: the connection is closed, as if the server had died before it could give one. */
export const CUT = Symbol('cut');

/** Bytes to answer a script call with; undefined: no answer at all. */
export type ScriptReply = (
  command: readonly string[],
  connection: number,
) => string | typeof CUT | undefined;

/**
 * A server that answers the handshake of ioredis 5 and 6 as Redis does, and script calls with
 * whatever bytes a test gives: what no Redis says can be heard from it. It may be taken for a cluster
 * of one node, too.
 */
export class FakeRespServer {
  /** Script calls received, as sent. */
  readonly calls: string[][] = [];
  /** What EVALSHA and EVAL are answered with, from now on. */
  reply: ScriptReply = () => ':0\r\n';
  private readonly sockets = new Set<Socket>();
  private connections = 0;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {
    server.on('connection', (socket) => this.accept(socket));
  }

  static async start(reply?: ScriptReply | string): Promise<FakeRespServer> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const fake = new FakeRespServer(server, (server.address() as AddressInfo).port);
    if (reply !== undefined) fake.reply = typeof reply === 'string' ? () => reply : reply;
    return fake;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(socket: Socket): void {
    const connection = ++this.connections;
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => undefined);
    let rest = '';
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      rest += chunk;
      for (let read = readCommand(rest); read !== undefined; read = readCommand(rest)) {
        rest = rest.slice(read.length);
        const answer = this.answer(read.command, connection);
        if (answer === CUT) socket.destroy();
        else if (answer !== undefined) socket.write(answer, 'latin1');
      }
    });
  }

  private answer(command: string[], connection: number): ReturnType<ScriptReply> {
    switch (command[0]!.toUpperCase()) {
      case 'EVALSHA':
      case 'EVAL':
        this.calls.push(command);
        return this.reply(command, connection);
      case 'HELLO':
        return command[1] === '3' ? HELLO_3 : '-NOPROTO unsupported protocol version\r\n';
      case 'INFO':
        return bulk(INFO);
      case 'PING':
        return '+PONG\r\n';
      case 'CONFIG':
        return resp([command[2] ?? '', 'noeviction']);
      case 'CLUSTER':
        // The only node of a cluster.
        return /^slots$/i.test(command[1] ?? '')
          ? resp([[0, 16_383, ['127.0.0.1', this.port, 'f'.repeat(40)]]])
          : bulk('cluster_state:ok\r\n');
      case 'ROLE':
        return '*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n';
      case 'TIME':
        return resp([String(Math.floor(Date.now() / 1000)), '0']);
      default:
        return '+OK\r\n';
    }
  }
}

/** A value as RESP2 bytes: numbers are integers, strings are bulk, arrays nest, null is nil. */
export function resp(value: RespValue): string {
  if (value === null) return '$-1\r\n';
  if (typeof value === 'number') return `:${value}\r\n`;
  if (typeof value === 'string') return bulk(value);
  return `*${value.length}\r\n${value.map(resp).join('')}`;
}

export type RespValue = null | number | string | readonly RespValue[];

/** An error as a server sends it: `OOM command not allowed …`. */
export function respError(text: string): string {
  return `-${text}\r\n`;
}

/** As Redis words them, by what they begin with. */
export const SERVER_ERRORS: Readonly<Record<string, string>> = {
  OOM: "OOM command not allowed when used memory > 'maxmemory'. script: 0, on @user_script:1.",
  READONLY: "READONLY You can't write against a read only replica.",
  MASTERDOWN: "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
  NOREPLICAS: 'NOREPLICAS Not enough good replicas to write.',
  LOADING: 'LOADING Redis is loading the dataset in memory',
  BUSY: 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
  WRONGTYPE: 'WRONGTYPE Operation against a key holding the wrong kind of value',
  CLUSTERDOWN: 'CLUSTERDOWN Hash slot not served',
  NOAUTH: 'NOAUTH Authentication required.',
  NOPERM: "NOPERM this user has no permissions to run the 'evalsha' command",
  MISCONF:
    'MISCONF Redis is configured to save RDB snapshots, but it is unable to persist on disk.',
};

const INFO = '# Server\r\nredis_version:7.0.15\r\n# Persistence\r\nloading:0\r\n';

const HELLO_3 =
  '%7\r\n' +
  [
    ['server', bulk('redis')],
    ['version', bulk('7.0.15')],
    ['proto', ':3\r\n'],
    ['id', ':1\r\n'],
    ['mode', bulk('standalone')],
    ['role', bulk('master')],
    ['modules', '*0\r\n'],
  ]
    .map(([name, value]) => bulk(name!) + value!)
    .join('');

function bulk(text: string): string {
  return `$${Buffer.byteLength(text, 'latin1')}\r\n${text}\r\n`;
}

/** One command, an array of bulk strings, and how many characters it took; undefined: not all here. */
function readCommand(input: string): { command: string[]; length: number } | undefined {
  const head = /^\*(\d+)\r\n/.exec(input);
  if (head === null) return undefined;
  let at = head[0].length;
  const command: string[] = [];
  for (let i = 0; i < Number(head[1]); i++) {
    const size = /^\$(\d+)\r\n/.exec(input.slice(at, at + 16));
    if (size === null) return undefined;
    at += size[0].length;
    const end = at + Number(size[1]);
    if (input.length < end + 2) return undefined;
    command.push(input.slice(at, end));
    at = end + 2;
  }
  return { command, length: at };
}
