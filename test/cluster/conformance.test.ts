import { afterAll, beforeAll, describe, it } from '@jest/globals';
import fc from 'fast-check';
import { describeStore } from '../../lib/testing/index.js';
import {
  counterPrograms,
  describePrograms,
  forwardOnly,
  limitPrograms,
  memoryAndRedis,
  RULES,
} from '../differential/programs.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { openServices } from '../support/services.js';

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await RedisCluster.start();
}, 30_000);

afterAll(() => cluster?.stop());

const redis = () => ({ cluster: cluster.seeds });

describeStore({ describe, it }, 'six nodes', (clock) =>
  openServices('redis', { clock, redis: redis() }),
);

const anyRule = fc.oneof(...Object.values(RULES));
const pair = () => memoryAndRedis({ redis: redis() });

describe('one policy, in process and on six nodes', () => {
  describePrograms(limitPrograms(anyRule), 100, [], pair);
});

describe('several policies in one decision, in process and on six nodes', () => {
  // A policy that comes after the one that denied is only looked at: what a clock that stepped back
  // has left there is mended when it is decided itself.
  describePrograms(forwardOnly(limitPrograms(anyRule, 2)), 200, [], pair);
});

describe('counters, in process and on six nodes', () => {
  describePrograms(counterPrograms, 100, [], pair);
});
