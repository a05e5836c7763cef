import { describe } from '@jest/globals';
import { describePrograms, limitPrograms, RULES } from './programs.js';

describe('fixed-window, in process and on Redis', () => {
  describePrograms(limitPrograms(RULES['fixed-window']), 400);
});
