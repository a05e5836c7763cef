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

const anyRule = fc.oneof(...Object.values(RULES));

describe('the expiry of a key decides nothing', () => {
  describePrograms(forwardOnly(limitPrograms(anyRule, 2)), 1000, [], withAndWithoutExpiry);
});

describe('the expiry of a counter decides nothing', () => {
  describePrograms(forwardOnly(counterPrograms), 1000, [], withAndWithoutExpiry);
});
