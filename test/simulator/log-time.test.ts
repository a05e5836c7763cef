import { describe, expect, it } from '@jest/globals';
import { parseTime } from '../../lib/simulator/log-time.js';

const NOON = Date.UTC(2026, 1, 28, 12, 0, 0);

describe('the time of a line', () => {
  it.each([
    ['28/Feb/2026:12:00:00 +0000', NOON],
    ['28/Feb/2026:05:00:00 -0700', NOON],
    ['28/Feb/2026:17:30:00 +0530', NOON],
    ['28/Feb/2026:08:30:00 -0330', NOON],
    ['28/Feb/2026:12:00:00.25 +0000', NOON + 250],
    ['2026-02-28T12:00:00Z', NOON],
    ['2026-02-28T12:00:00.123456Z', NOON + 123],
    ['2026-02-28T14:00:00+02:00', NOON],
    ['2026-02-28T08:30:00-03:30', NOON],
    ['2026-02-28T14:00:00+0200', NOON],
    ['2026-02-28 12:00:00,5', NOON + 500],
    ['2026-02-28T12:00:00', NOON],
    [NOON, NOON],
    [NOON / 1000, NOON],
    [NOON / 1000 + 0.25, NOON + 250],
    [NOON * 1000, NOON],
    [NOON * 1e6, NOON],
    [String(NOON), NOON],
    [String(NOON / 1000), NOON],
    [`${NOON / 1000}.25`, NOON + 250],
    ['29/Feb/2024:00:00:00 +0000', Date.UTC(2024, 1, 29)],
    ['29/Feb/2000:00:00:00 +0000', Date.UTC(2000, 1, 29)],
    ['2016-12-31T23:59:60Z', Date.UTC(2017, 0, 1)],
  ])('%j is understood', (written, at) => {
    expect(parseTime(written)).toBe(at);
  });

  it.each([
    '',
    'yesterday',
    '29/Feb/2026:12:00:00 +0000',
    '29/Feb/2100:12:00:00 +0000',
    '28/Fab/2026:12:00:00 +0000',
    '28/Feb/2026:24:00:00 +0000',
    '28/Feb/2026:12:00:00',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-01',
    '1e9',
    -1,
    NaN,
    Infinity,
    1e300,
    null,
    undefined,
    true,
    {},
  ])('%p is none', (written) => {
    expect(parseTime(written)).toBeUndefined();
  });
});
