import { describe } from '@jest/globals';
import { describePrograms, limitPrograms, type Program, RULES, WINDOW } from './programs.js';

/** Failures of the past: they run first, for ever. */
const REGRESSIONS: readonly Program[] = [
  // A refund of nothing was one of everything.
  {
    policies: [[{ rules: [{ limit: 0, window: WINDOW }] }]],
    steps: [
      { op: 'consume', cost: 0 },
      { op: 'refund', back: 0, cost: 1 },
    ],
  },
];

describe('sliding-log, in process and on Redis', () => {
  describePrograms(limitPrograms(RULES['sliding-log']), 400, REGRESSIONS);
});
