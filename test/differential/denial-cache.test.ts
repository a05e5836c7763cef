import { describe } from '@jest/globals';
import fc from 'fast-check';
import type { Decision } from '../../lib/index.js';
import { describePrograms, limitPrograms, RULES, withAndWithoutDenialCache } from './programs.js';

/** What a request depends on. Between two answers a denied policy may hold more than it said. */
function verdictOf(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('violated' in answer)) return answer;
  const { allowed, violated, retryAfterMs, shadow, decidedAt } = answer as Decision;
  return { allowed, violated, retryAfterMs, shadow, decidedAt };
}

describe('Redis with and without the denial cache', () => {
  describePrograms(
    limitPrograms(fc.oneof(...Object.values(RULES)), 1),
    500,
    [],
    withAndWithoutDenialCache,
    verdictOf,
  );

  describe('over several policies', () => {
    describePrograms(
      limitPrograms(fc.oneof(...Object.values(RULES)), 2),
      300,
      [],
      withAndWithoutDenialCache,
      verdictOf,
    );
  });
});
