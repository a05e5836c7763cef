import { describe, expect, it } from '@jest/globals';
import { parseCandidate } from '../../lib/simulator/candidate.js';

describe('a candidate', () => {
  it.each([
    ['100/1m', [{ algorithm: 'sliding-log', limit: 100, windowMs: 60_000 }]],
    ['10/s', [{ algorithm: 'sliding-log', limit: 10, windowMs: 1000 }]],
    ['sliding-log:100/1m', [{ algorithm: 'sliding-log', limit: 100, windowMs: 60_000 }]],
    ['fixed-window:0/1d', [{ algorithm: 'fixed-window', limit: 0, windowMs: 86_400_000 }]],
    [
      'sliding-counter:100/1m/30',
      [{ algorithm: 'sliding-counter', limit: 100, windowMs: 60_000, slices: 30 }],
    ],
    [
      'sliding-counter:100/1m',
      [{ algorithm: 'sliding-counter', limit: 100, windowMs: 60_000, slices: 60 }],
    ],
    [
      'token-bucket:20+5/500ms',
      [{ algorithm: 'token-bucket', limit: 20, windowMs: 500, refill: 5 }],
    ],
    ['token-bucket:20/1s', [{ algorithm: 'token-bucket', limit: 20, windowMs: 1000, refill: 20 }]],
    [
      '10/1s, fixed-window:100/1m',
      [
        { algorithm: 'sliding-log', limit: 10, windowMs: 1000 },
        { algorithm: 'fixed-window', limit: 100, windowMs: 60_000 },
      ],
    ],
  ])('%s is understood', (text, rules) => {
    const candidate = parseCandidate(text);
    expect(candidate.text).toBe(text);
    expect(candidate.plan.rules).toEqual(rules.map((rule) => expect.objectContaining(rule)));
  });

  it.each([
    ['', /--rule "": "" is not accepted; use '\[algorithm:\]limit\/window'/],
    ['100', /--rule "100"/],
    ['100/1m,', /--rule "100\/1m,": "" is not accepted/],
    ['-1/1m', /is not accepted/],
    ['100/1y', /window: "1y" is not accepted/],
    ['100/400d', /window: "400d" is not accepted/],
    ['leaky:5/1m', /algorithm: "leaky" is not accepted; use "fixed-window"/],
    ['5+2/1m', /unknown option "refill"/],
    ['5/1m/60', /unknown option "slices"/],
    ['token-bucket:5+0/1m', /refill: 0 is not accepted/],
    ['10/1m,100/1s', /makes .* pointless/],
    ['200000/1d', /use at most 100000, or algorithm: 'sliding-counter'/],
  ])('%j is refused in one line', (text, message) => {
    expect(() => parseCandidate(text)).toThrow(message);
    expect(() => parseCandidate(text)).toThrow(/^--rule [^\n]*$/);
  });
});
