import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { createGunzip } from 'node:zlib';
import { SimulateError } from './simulate-error.js';

export const STDIN = '-';

/**
 * Bytes of the files together, as they lie on disk; undefined where standard
 * input is among them. Throws SimulateError for a file that is not there.
 */
export async function sizeOf(files: readonly string[]): Promise<number | undefined> {
  let sum = 0;
  for (const file of files) {
    if (file === STDIN) continue;
    try {
      sum += (await stat(file)).size;
    } catch (cause) {
      throw SimulateError.unreadable(file, cause);
    }
  }
  return files.includes(STDIN) ? undefined : sum;
}

/** The text of a file, or of standard input for `-`, unpacked if it is packed by gzip. */
export async function* textOf(
  file: string,
  onBytes: (count: number) => void,
): AsyncGenerator<string> {
  const source: Readable = file === STDIN ? process.stdin : createReadStream(file);
  const decoder = new StringDecoder('utf8');
  try {
    for await (const chunk of await unpacked(counted(source, onBytes))) yield decoder.write(chunk);
  } catch (cause) {
    throw SimulateError.unreadable(file, cause);
  }
  yield decoder.end();
}

async function* counted(
  source: Readable,
  onBytes: (count: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of source as AsyncIterable<Buffer>) {
    onBytes(chunk.length);
    yield chunk;
  }
}

/** Known by its first two bytes, because standard input has no name. */
async function unpacked(chunks: AsyncGenerator<Buffer>): Promise<AsyncIterable<Buffer>> {
  let head: Buffer = Buffer.alloc(0);
  while (head.length < 2) {
    const next = await chunks.next();
    if (next.done) break;
    head = Buffer.concat([head, next.value]);
  }
  const whole = startingWith(head, chunks);
  if (head[0] !== 0x1f || head[1] !== 0x8b) return whole;
  // A failure of either side reaches the reader of the last stream.
  return pipeline(Readable.from(whole), createGunzip(), () => {});
}

async function* startingWith(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield head;
  yield* rest;
}
