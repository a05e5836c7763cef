import { describe } from '@jest/globals';
import { describePrograms, limitPrograms, RULES } from './programs.js';

describe('sliding-counter, in process and on Redis', () => {
  describePrograms(limitPrograms(RULES['sliding-counter']), 400);
});
