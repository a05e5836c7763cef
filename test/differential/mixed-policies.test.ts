import { describe } from '@jest/globals';
import fc from 'fast-check';
import { describePrograms, limitPrograms, RULES } from './programs.js';

const anyRule = fc.oneof(...Object.values(RULES));

describe('one policy of mixed algorithms, in process and on Redis', () => {
  describePrograms(limitPrograms(anyRule), 300);
});

describe('several policies in one decision, in process and on Redis', () => {
  describePrograms(limitPrograms(anyRule, 2), 300);
});
