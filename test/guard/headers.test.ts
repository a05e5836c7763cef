import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseList, serializeList } from 'structured-headers';
import { type Decision, decide, merge, type RuleState } from '../../lib/decision.js';
import { headerFields } from '../../lib/guard/headers.js';
import { resolveHandlerPolicy } from '../../lib/guard/handler-policy.js';
import type { HeaderMode } from '../../lib/index.js';

const SUBJECT = '203.0.113.9';

function rule(limit: number, windowMs: number, remaining: number, more: Partial<RuleState> = {}) {
  return { limit, windowMs, remaining, resetMs: windowMs, retryAfterMs: 0, ...more };
}

/** A decision over policies, each of which denies if one of its rules has to wait. */
function decision(policies: Record<string, RuleState[]>): Decision {
  const decided = Object.entries(policies).map(([name, rules]) => ({
    name,
    type: 'ip',
    subject: SUBJECT,
    allowed: rules.every(({ retryAfterMs }) => retryAfterMs === 0),
    rules,
  }));
  return decide(
    decided,
    decided.map(() => ({ shadow: false })),
    'memory',
    0,
  );
}

const fields = (of: Decision, mode: HeaderMode = 'standard') =>
  Object.fromEntries(headerFields(of, mode));

const one = { login: [rule(10, 60_000, 9)] };
const oneDenied = { login: [rule(10, 60_000, 0, { retryAfterMs: 4001 })] };
const several = { api: [rule(2, 500, 1), rule(5, 1500, 4)] };
const severalDenied = {
  api: [rule(2, 500, 0, { retryAfterMs: 120 }), rule(5, 1500, 3, { resetMs: 1400 })],
};

describe('the header fields', () => {
  it.each([
    ['one rule, allowed', one, '"login";q=10;w=60', '"login";r=9;t=54', undefined],
    ['one rule, denied', oneDenied, '"login";q=10;w=60', '"login";r=0;t=5', '5'],
    [
      'windows of 500 ms and 1.5 s, allowed',
      several,
      '"api-500ms";q=2;w=1, "api-1500ms";q=5;w=2',
      '"api-500ms";r=1;t=1, "api-1500ms";r=4;t=2',
      undefined,
    ],
    [
      'windows of 500 ms and 1.5 s, denied',
      severalDenied,
      '"api-500ms";q=2;w=1, "api-1500ms";q=5;w=2',
      '"api-500ms";r=0;t=1, "api-1500ms";r=3;t=1',
      '1',
    ],
    [
      'two policies, allowed',
      { ...one, ...several },
      '"login";q=10;w=60, "api-500ms";q=2;w=1, "api-1500ms";q=5;w=2',
      '"login";r=9;t=54, "api-500ms";r=1;t=1, "api-1500ms";r=4;t=2',
      undefined,
    ],
    [
      'two policies, denied by one',
      { ...one, ...severalDenied },
      '"login";q=10;w=60, "api-500ms";q=2;w=1, "api-1500ms";q=5;w=2',
      '"login";r=9;t=1, "api-500ms";r=0;t=1, "api-1500ms";r=3;t=1',
      '1',
    ],
    [
      'windows of minutes, hours and days, and two of one length',
      {
        p: [rule(1, 60_000, 1), rule(2, 3_600_000, 2), rule(3, 172_800_000, 3), rule(9, 60_000, 9)],
      },
      '"p-1m";q=1;w=60, "p-1h";q=2;w=3600, "p-2d";q=3;w=172800, "p-1m-4";q=9;w=60',
      '"p-1m";r=1;t=60, "p-1h";r=2;t=3600, "p-2d";r=3;t=172800, "p-1m-4";r=9;t=60',
      undefined,
    ],
    [
      'the last unit just taken',
      { p: [rule(1, 60_000, 0, { resetMs: 59_001 })] },
      '"p";q=1;w=60',
      '"p";r=0;t=60',
      undefined,
    ],
    [
      'a limit of nothing',
      { p: [rule(0, 1000, 0, { retryAfterMs: Infinity })] },
      '"p";q=0;w=1',
      '"p";r=0',
      undefined,
    ],
    [
      'a cost above what is left',
      { p: [rule(10, 60_000, 2, { retryAfterMs: 1000 })] },
      '"p";q=10;w=60',
      '"p";r=2;t=1',
      '1',
    ],
  ])('of %s', (_, policies, quota, state, retryAfter) => {
    const denied = retryAfter === undefined ? {} : { 'Retry-After': retryAfter };
    expect(fields(decision(policies))).toEqual({
      'RateLimit-Policy': quota,
      RateLimit: state,
      ...denied,
    });
  });

  it.each([
    ['legacy', one, ['10', '9', '60']],
    ['legacy', oneDenied, ['10', '0', '60']],
    ['legacy', several, ['2', '1', '1']],
    ['legacy', severalDenied, ['2', '0', '1']],
    ['legacy', { ...one, ...several }, ['2', '1', '1']],
  ] as const)(
    'of %s are those of the tightest rule: %j',
    (mode, policies, [limit, left, reset]) => {
      const { 'Retry-After': _, ...rest } = fields(decision(policies), mode);
      expect(rest).toEqual({
        'X-RateLimit-Limit': limit,
        'X-RateLimit-Remaining': left,
        'X-RateLimit-Reset': reset,
      });
    },
  );

  it("of 'both' are those of 'standard' and of 'legacy'", () => {
    for (const policies of [one, oneDenied, several, severalDenied]) {
      const of = decision(policies);
      expect(fields(of, 'both')).toEqual({ ...fields(of, 'standard'), ...fields(of, 'legacy') });
    }
  });

  it('of false are Retry-After on a denial, and nothing else', () => {
    expect(fields(decision(oneDenied), false)).toEqual({ 'Retry-After': '5' });
    expect(fields(decision(one), false)).toEqual({});
  });

  it('of two decisions on one request are one list over both', () => {
    const merged = merge(decision(one), decision(several));
    expect(fields(merged)).toEqual(fields(decision({ ...one, ...several })));
  });

  it('of no policies are none', () => {
    expect(headerFields(decision({}), 'both')).toEqual([]);
  });

  it('have integers of at most 15 digits', () => {
    const huge = { p: [rule(Number.MAX_SAFE_INTEGER, 31_536_000_000, Number.MAX_SAFE_INTEGER)] };
    expect(fields(decision(huge), 'both')).toEqual({
      'RateLimit-Policy': '"p";q=999999999999999;w=31536000',
      RateLimit: '"p";r=999999999999999;t=31536000',
      'X-RateLimit-Limit': '999999999999999',
      'X-RateLimit-Remaining': '999999999999999',
      'X-RateLimit-Reset': '31536000',
    });
  });

  it('tell nothing of the key or the user', () => {
    for (const policies of [one, oneDenied, several, severalDenied]) {
      expect(JSON.stringify(headerFields(decision(policies), 'both'))).not.toContain(SUBJECT);
    }
  });
});

describe('a name that appears in header fields', () => {
  const resolve = (name: string) =>
    resolveHandlerPolicy(
      { type: 'ip', rules: '1/s', name },
      name,
      { onStoreError: 'local', shadow: false },
      'here',
    ).name;

  it.each(['a', 'A.b_c-9', 'x'.repeat(64)])('may be %j', (name) => {
    expect(resolve(name)).toBe(name);
  });

  it.each(['', 'x'.repeat(65), 'a b', 'a"b', 'a\r\nb', 'a;q=1', 'é', '{a}', 'a,b'])(
    'is refused at boot if it is %j',
    (name) => {
      expect(() => resolve(name)).toThrow('1 to 64 of A-Z a-z 0-9 _ . -');
    },
  );
});

const ruleState = fc
  .record({
    limit: fc.oneof(fc.integer({ min: 0, max: 100 }), fc.maxSafeNat()),
    windowMs: fc.integer({ min: 1, max: 31_536_000_000 }),
    used: fc.double({ min: 0, max: 1, noNaN: true }),
    resetMs: fc.nat(63_072_001_000),
    retryAfterMs: fc.oneof(fc.constant(0), fc.nat(63_072_001_000), fc.constant(Infinity)),
  })
  .map(({ used, ...state }) => ({ ...state, remaining: Math.floor(state.limit * used) }));
const decisions = fc
  .dictionary(
    fc.stringMatching(/^[A-Za-z0-9_.-]{1,64}$/),
    fc.array(ruleState, { minLength: 1, maxLength: 4 }),
    { minKeys: 1, maxKeys: 3 },
  )
  .map(decision);

describe('whatever was decided,', () => {
  it('the fields are structured lists of strings with the integers that the draft demands', () => {
    fc.assert(
      fc.property(decisions, (of) => {
        const { 'RateLimit-Policy': quota, RateLimit: state } = fields(of);
        const quotas = parseList(quota!) as [string, Map<string, number>][];
        const states = parseList(state!) as [string, Map<string, number>][];
        expect(serializeList(quotas)).toBe(quota);
        expect(serializeList(states)).toBe(state);
        expect(quotas.map(([name]) => name)).toEqual(states.map(([name]) => name));
        expect(quotas).toHaveLength(of.policies.flatMap(({ rules }) => rules).length);
        quotas.forEach(([name, quotaOf], i) => {
          const stateOf = states[i]![1];
          expect(typeof name).toBe('string');
          expect([...quotaOf.keys()]).toEqual(['q', 'w']);
          for (const value of [...quotaOf.values(), ...stateOf.values()]) {
            expect(Number.isInteger(value) && value >= 0 && value < 1e15).toBe(true);
          }
          expect(quotaOf.get('w')).toBeGreaterThanOrEqual(1);
          expect(stateOf.get('r')).toBeLessThanOrEqual(quotaOf.get('q')!);
        });
      }),
    );
  });

  it('Retry-After is one integer from 1 on, at the wait or just after it, and never earlier than t', () => {
    fc.assert(
      fc.property(decisions, (of) => {
        const retryAfter = headerFields(of, 'both').filter(([name]) => name === 'Retry-After');
        if (of.allowed || of.retryAfterMs === null) {
          expect(retryAfter).toEqual([]);
          return;
        }
        expect(retryAfter).toHaveLength(1);
        expect(retryAfter[0]![1]).toMatch(/^[1-9]\d{0,14}$/);
        const seconds = Number(retryAfter[0]![1]);
        expect(seconds * 1000 - of.retryAfterMs).toBeGreaterThanOrEqual(0);
        expect(seconds * 1000 - of.retryAfterMs).toBeLessThan(1000);
        for (const [, params] of parseList(fields(of).RateLimit!)) {
          expect((params.get('t') as number | undefined) ?? 0).toBeLessThanOrEqual(seconds);
        }
      }),
    );
  });
});
