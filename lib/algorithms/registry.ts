import { checkOneOf } from '../errors.js';
import type { AlgorithmName } from '../rules/rule.js';
import type { Algorithm } from './algorithm.js';
import { fixedWindow } from './fixed-window.js';
import { slidingCounter } from './sliding-counter.js';
import { slidingLog } from './sliding-log.js';
import { tokenBucket } from './token-bucket.js';

/** Every algorithm there is: one line here, one file beside this one, one file in lua/algorithms. */
export const ALGORITHMS: Readonly<Record<AlgorithmName, Algorithm>> = {
  'fixed-window': fixedWindow,
  'sliding-counter': slidingCounter,
  'sliding-log': slidingLog,
  'token-bucket': tokenBucket,
};

export const ALGORITHM_NAMES = Object.keys(ALGORITHMS) as AlgorithmName[];

export function algorithmOf(name: string, path: string): Algorithm {
  return ALGORITHMS[checkOneOf(name as AlgorithmName, ALGORITHM_NAMES, `${path}.algorithm`)];
}
