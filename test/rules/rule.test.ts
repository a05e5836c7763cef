import { describe, expect, it } from '@jest/globals';
import { parseRules } from '../../lib/rules/policy.js';
import { parseRule } from '../../lib/rules/rule.js';

describe('a rule', () => {
  it.each([
    ['100/1m', 100, 60_000],
    ['10/s', 10, 1000],
    ['10/500ms', 10, 500],
    ['0/d', 0, 86_400_000],
    ['5/1.5 s', 5, 1500],
  ])('%j is a sliding log of %i units in %i ms', (written, limit, windowMs) => {
    expect(parseRule(written, 'rule')).toMatchObject({ algorithm: 'sliding-log', limit, windowMs });
  });

  it('keeps what only its algorithm knows', () => {
    const written = { algorithm: 'token-bucket', limit: 5, refill: 2, window: '1m' };
    expect(parseRule(written, 'rule')).toEqual({
      algorithm: 'token-bucket',
      limit: 5,
      windowMs: 60_000,
      written,
    });
  });

  it('is named by its place where there are several', () => {
    expect(parseRules('5/s', 'rules')).toHaveLength(1);
    expect(parseRules(['5/s', '6/m'], 'rules')).toHaveLength(2);
    expect(() => parseRules(['5/s', 'often'], 'rules')).toThrow(
      expect.objectContaining({ path: 'rules[1]' }),
    );
  });

  it('does not vanish in the hole of an array', () => {
    const holed: unknown[] = ['5/s'];
    holed[2] = '6/m';
    expect(() => parseRules(holed, 'rules')).toThrow(expect.objectContaining({ path: 'rules[1]' }));
  });
});
