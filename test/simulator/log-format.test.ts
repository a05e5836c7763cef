import { describe, expect, it } from '@jest/globals';
import { configError } from '../../lib/errors.js';
import type { LineParser } from '../../lib/simulator/log-entry.js';
import { type FormatOptions, lineParser } from '../../lib/simulator/log-format.js';
import { linesOf, LONGEST_LINE } from '../../lib/simulator/log-lines.js';

const AT = Date.UTC(2025, 9, 10, 13, 55, 36);
const TIME = '[10/Oct/2025:13:55:36 +0000]';
const COMMON = `192.0.2.7 - frank ${TIME} "GET /a/b.gif?x=1 HTTP/1.0" 200 2326`;
const COMBINED = `${COMMON} "http://example.com/?\\"q\\"" "Mozilla/5.0 (\\"quoted\\") [en] \\\\"`;

function parser(options: Partial<FormatOptions> = {}): LineParser {
  return lineParser({ format: 'auto', by: 'ip', ipv6Prefix: 56, timeField: undefined, ...options });
}

const by = (field: string, line: string) => parser({ by: field })(line);

describe('a line of the common or combined format', () => {
  it('names the address and the time', () => {
    expect(by('ip', COMMON)).toEqual({ at: AT, subject: '192.0.2.7' });
    expect(by('ip', COMBINED)).toEqual({ at: AT, subject: '192.0.2.7' });
  });

  it.each([
    ['host', '192.0.2.7'],
    ['user', 'frank'],
    ['path', '/a/b.gif'],
    ['agent', 'Mozilla/5.0 (\\"quoted\\") [en] \\\\'],
    ['global', 'global'],
  ])('counts by %s', (field, subject) => {
    expect(by(field, COMBINED)).toEqual({ at: AT, subject });
  });

  it.each([
    ['2001:db8:1:2ff:3::4', '2001:db8:1:200::/56'],
    ['2001:DB8:1:200::', '2001:db8:1:200::/56'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
  ])('counts the address %s as %s', (address, subject) => {
    expect(by('ip', COMMON.replace('192.0.2.7', address))).toEqual({ at: AT, subject });
  });

  it('counts IPv6 addresses by the prefix that is asked for', () => {
    const line = COMMON.replace('192.0.2.7', '2001:db8:1:2ff:3::4');
    expect(parser({ ipv6Prefix: 128 })(line)).toMatchObject({ subject: '2001:db8:1:2ff:3::4/128' });
  });

  it.each([
    ['a quote in the request', COMMON.replace('/a/b.gif?x=1', '/\\"a\\"')],
    ['a bracket in the request', COMMON.replace('/a/b.gif?x=1', '/[a]')],
    ['a space in the user', COMMON.replace('frank', 'frank m')],
    ['no bytes', COMMON.replace('2326', '-')],
    ['a request that is none', COMMON.replace('GET /a/b.gif?x=1 HTTP/1.0', '\\x16\\x03\\x01')],
    ['an empty request', COMMON.replace('GET /a/b.gif?x=1 HTTP/1.0', '')],
    ['more fields behind', `${COMBINED} "10.0.0.1" 0.003`],
  ])('may have %s', (_, line) => {
    expect(by('ip', line)).toEqual({ at: AT, subject: '192.0.2.7' });
  });

  it('counts by the first field that it has', () => {
    const anonymous = COMMON.replace('frank', '-');
    expect(by('user,ip', COMMON)).toMatchObject({ subject: 'frank' });
    expect(by('user, ip', anonymous)).toMatchObject({ subject: '192.0.2.7' });
    expect(by('user', anonymous)).toBe('no user');
  });

  it.each([
    ['', 'not of the common log format'],
    ['hello', 'not of the common log format'],
    [COMMON.replace(' 200 ', ' OK '), 'not of the common log format'],
    [COMMON.replace('HTTP/1.0"', 'HTTP/1.0'), 'not of the common log format'],
    [COMMON.replace('Oct', 'Okt'), 'no time'],
    [COMMON.replace('192.0.2.7', 'client.example.com'), 'no ip'],
    [COMMON.replace('192.0.2.7', '192.0.2.07'), 'no ip'],
  ])('%j is bad: %s', (line, problem) => {
    expect(by('ip', line)).toBe(problem);
  });

  it('is bad without an agent, if combined lines are asked for or agents are counted', () => {
    expect(parser({ format: 'combined' })(COMMON)).toBe('not of the combined log format');
    expect(parser({ format: 'combined' })(COMBINED)).toMatchObject({ at: AT });
    expect(by('agent', COMMON)).toBe('no agent');
  });
});

describe('a JSON line', () => {
  const line = (fields: object) => JSON.stringify({ time: AT, ...fields });

  it.each([
    ['ip', { ip: '192.0.2.7' }, '192.0.2.7'],
    ['client.ip', { client: { ip: '2001:db8::1' } }, '2001:db8::/56'],
    ['client.ip', { 'client.ip': '192.0.2.7' }, '192.0.2.7'],
    ['user.id', { user: { id: 7 } }, '7'],
    ['a.0', { a: ['x'] }, 'x'],
    ['user,ip', { ip: '192.0.2.7' }, '192.0.2.7'],
    ['user,ip', { user: '', ip: '192.0.2.7' }, '192.0.2.7'],
    ['global', {}, 'global'],
  ])('counts by %s in %j', (field, fields, subject) => {
    expect(by(field, line(fields))).toEqual({ at: AT, subject });
  });

  it.each(['time', 'timestamp', '@timestamp', 'ts'])('finds its time in %s', (name) => {
    const written = JSON.stringify({ ip: 'a', [name]: '2025-10-10T13:55:36Z' });
    expect(by('ip', written)).toEqual({ at: AT, subject: 'a' });
  });

  it('has its time in the field that is named', () => {
    const parse = parser({ timeField: 'req.start' });
    expect(parse(line({ ip: 'a', req: { start: AT / 1000 + 1 } }))).toMatchObject({
      at: AT + 1000,
    });
    expect(parse(line({ ip: 'a' }))).toBe('no field req.start');
  });

  it.each([
    ['{"ip":', 'not a JSON object'],
    ['[1]x', 'not a JSON object'],
    ['7', 'not a JSON object'],
    ['null', 'not a JSON object'],
    ['{"ip":"a"}', 'no field time, no timestamp, no @timestamp, no ts'],
    ['{"ip":"a","time":"now"}', 'no time'],
    ['{"time":1}', 'no field ip'],
    ['{"time":1,"ip":null}', 'no field ip'],
    ['{"time":1,"ip":{"a":1}}', 'no field ip'],
  ])('%j is bad: %s', (text, problem) => {
    expect(parser({ format: 'json' })(text)).toBe(problem);
  });

  it.each(['constructor', '__proto__', 'ip.length', 'toString.name'])(
    'has no field %s that it does not name',
    (field) => {
      expect(by(field, line({ ip: 'abc' }))).toBe(`no field ${field}`);
    },
  );
});

describe('options of the format', () => {
  const fields = '"ip", "host", "user", "path", "agent", "global"';

  it('refuse a field that no common log has', () => {
    expect(() => by('session', COMMON)).toThrow(configError.badValue('--by', 'session', fields));
    expect(by('session', '{"time":1,"session":"a"}')).toEqual({ at: 1000, subject: 'a' });
  });

  it('refuse an empty list, a prefix that is none, and a time field without JSON', () => {
    expect(() => by('ip,', COMMON)).toThrow(/--by/);
    expect(() => parser({ ipv6Prefix: 129 })).toThrow(/--ipv6-prefix/);
    expect(() => parser({ timeField: 't', format: 'common' })).toThrow(/--time-field/);
  });
});

describe('a text in chunks', () => {
  async function lines(...chunks: string[]): Promise<string[]> {
    const all: string[] = [];
    async function* source() {
      yield* chunks;
    }
    for await (const some of linesOf(source())) all.push(...some);
    return all;
  }

  it('is split at line feeds alone, wherever a chunk ends', async () => {
    expect(await lines('a\nb', 'c\n', '', 'd\u2028e\rf\r\n', 'g')).toEqual([
      'a',
      'bc',
      'd\u2028e\rf\r',
      'g',
    ]);
    expect(await lines()).toEqual([]);
  });

  it('does not keep a line that never ends', async () => {
    const endless = Array.from({ length: 64 }, () => 'x'.repeat(LONGEST_LINE));
    const [first, second, ...more] = await lines(...endless, '\nshort\n');
    expect(first!.length).toBeGreaterThan(LONGEST_LINE);
    expect(first!.length).toBeLessThan(3 * LONGEST_LINE);
    expect([second, more]).toEqual(['short', []]);
  });
});
