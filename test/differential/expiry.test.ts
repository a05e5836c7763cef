import { describe } from '@jest/globals';
import fc from 'fast-check';
import {
  counterPrograms,
  describePrograms,
  forwardOnly,
  limitPrograms,
  RULES,
  withAndWithoutExpiry,
} from './programs.js';

// Under a changed refill a debt is paid back at the new rate, as long as it is remembered.
const anyRule = fc.oneof(
  RULES['sliding-log'],
  RULES['fixed-window'],
  RULES['sliding-counter'],
  RULES['token-bucket'].map((rule) => ({ ...rule, refill: 3 })),
);

describe('the expiry of a key decides nothing', () => {
  describePrograms(forwardOnly(limitPrograms(anyRule, 2)), 1000, [], withAndWithoutExpiry);
});

describe('the expiry of a counter decides nothing', () => {
  describePrograms(forwardOnly(counterPrograms), 1000, [], withAndWithoutExpiry);
});
