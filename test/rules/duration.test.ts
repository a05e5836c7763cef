import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LONGEST_MS, parseDuration } from '../../lib/rules/duration.js';

describe('a duration', () => {
  it.each([
    [1, 1],
    [500, 500],
    ['500ms', 500],
    ['10s', 10_000],
    ['10 s', 10_000],
    ['1.5s', 1500],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1d', 86_400_000],
    ['365d', LONGEST_MS],
    [LONGEST_MS, LONGEST_MS],
  ])('%j is %i ms', (written, millis) => {
    expect(parseDuration(written, 'window')).toBe(millis);
  });

  it('is whole milliseconds from 1 to a year, or refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.double(), fc.string()), (value) => {
        let millis: number;
        try {
          millis = parseDuration(value, 'window');
        } catch (error) {
          expect(error).toMatchObject({ code: 'SW_BAD_VALUE', path: 'window' });
          return;
        }
        expect(Number.isInteger(millis) && millis >= 1 && millis <= LONGEST_MS).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});
