import { describe } from '@jest/globals';
import { counterPrograms, describePrograms, type Program, WINDOW } from './programs.js';

/** Failures of the past: they run first, for ever. */
const REGRESSIONS: readonly Program[] = [
  // A longer window than any before brought back what had expired and was not yet removed.
  {
    policies: [[]],
    steps: [
      { op: 'count', key: 'a', windowMs: WINDOW / 2, threshold: 0, clear: false },
      { op: 'advance', ms: WINDOW - 1 },
      { op: 'count', key: 'a', windowMs: WINDOW, threshold: 0, clear: false },
    ],
  },
];

describe('counters, in process and on Redis', () => {
  describePrograms(counterPrograms, 500, REGRESSIONS);
});
