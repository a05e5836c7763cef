/** A longer line is no log line; of it no more than this is kept. */
export const LONGEST_LINE = 65_536;

/**
 * The lines of a text that comes in chunks, as many at once as a chunk ends. Split at line feeds
 * alone: other separators may stand in a field.
 */
export async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string[]> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop()!;
    if (rest.length > LONGEST_LINE) rest = rest.slice(0, LONGEST_LINE + 1);
    yield lines;
  }
  if (rest !== '') yield [rest];
}
