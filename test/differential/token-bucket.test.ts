import { describe } from '@jest/globals';
import { describePrograms, limitPrograms, type Program, RULES, WINDOW } from './programs.js';

/** Failures of the past: they run first, for ever. */
const REGRESSIONS: readonly Program[] = [
  // Under a changed refill one store still held the debt, and the other did not.
  {
    policies: [
      [{ rules: [{ algorithm: 'token-bucket', limit: 1, refill: 3, window: 2 * WINDOW }] }],
      [{ rules: [{ algorithm: 'token-bucket', limit: 0, refill: 1, window: 2 * WINDOW }] }],
    ],
    steps: [
      { op: 'consume', cost: 1 },
      { op: 'advance', ms: WINDOW - 1 },
      { op: 'change', to: 1 },
      { op: 'consume', cost: 1 },
    ],
  },
];

describe('token-bucket, in process and on Redis', () => {
  describePrograms(limitPrograms(RULES['token-bucket']), 400, REGRESSIONS);
});
