import { emptyScript, incr } from './peers/commands.js';
import { plainScript, sliding, slidingCached, slidingLeased } from './peers/ours.js';
import { flexibleBlocking, flexibleRedis } from './peers/rate-limiter-flexible.js';
import { rateLimitRedis } from './peers/rate-limit-redis.js';
import { throttler } from './peers/throttler.js';
import { zset } from './peers/zset.js';

const PEERS = [flexibleRedis, throttler, rateLimitRedis];
const FLOOR = [incr, emptyScript];
export const ALL = [sliding, ...PEERS, zset, ...FLOOR];

const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** Generous, and shorter than a round, so that entries leave as fast as they come. */
const WINDOW = 200;
const ADMITS = [{ limit: 1000, windowMs: WINDOW }];
/** All calls on one key; a log has 100 000 entries at most. */
const ONE_KEY = [{ limit: 100_000, windowMs: WINDOW }];
/** Used up at once, and for the whole run. */
const DENIES = [{ limit: 10, windowMs: 10 * MINUTE }];

const admitted = (id, title, more) => ({
  id,
  title,
  outcome: 'admitted',
  callers: 128,
  keys: 1000,
  rules: ADMITS,
  contestants: ALL,
  ...more,
});

const denied = (id, title, more) => ({
  ...admitted(id, title),
  outcome: 'denied',
  rules: DENIES,
  used: DENIES[0].limit,
  ...more,
});

const algorithm = (id, ...rules) =>
  admitted(id, `Algorithms: ${id.replaceAll('-and-', ' and ')}`, {
    group: 'algorithms',
    rules,
    contestants: [sliding],
  });

const [LOG] = ADMITS;
const COUNTER = { algorithm: 'sliding-counter', slices: 10, ...LOG };
const FIXED = { algorithm: 'fixed-window', ...LOG };
const BUCKET = { algorithm: 'token-bucket', refill: 1000, ...LOG };

/** One server, callers that ask again as soon as they are answered. */
export const CLOSED = [
  admitted('admitted', 'Admitted'),
  denied('denied', 'Denied', {
    contestants: [sliding, slidingCached, ...PEERS, flexibleBlocking, zset],
  }),
  admitted('load-admitted', 'Admitted, 100 callers', {
    callers: 100,
    contestants: [sliding, rateLimitRedis],
  }),
  denied('load-denied', 'Denied, 100 callers', {
    callers: 100,
    contestants: [sliding, rateLimitRedis],
  }),
  // Few calls at once are few calls in a round: the plain script beside ours is what matters here.
  admitted('callers-1', 'Admitted, 1 caller', { callers: 1, contestants: [...ALL, plainScript] }),
  denied('one-denied', 'Denied, 1 caller', { callers: 1, contestants: [sliding, rateLimitRedis] }),
  admitted('callers-16', 'Admitted, 16 callers', { callers: 16 }),
  admitted('callers-1000', 'Admitted, 1 000 callers', { callers: 1000 }),
  admitted('keys-1', 'Admitted, 1 key', {
    keys: 1,
    rules: ONE_KEY,
  }),
  admitted('keys-100000', 'Admitted, 100 000 keys', {
    keys: 100_000,
    rules: [{ limit: 1000, windowMs: MINUTE }],
  }),
  admitted('three-rules', 'Admitted, 3 rules', {
    rules: [
      { limit: 1000, windowMs: WINDOW },
      { limit: 5000, windowMs: SECOND },
      { limit: 10_000, windowMs: 5 * SECOND },
    ],
    contestants: [sliding, ...PEERS, zset],
  }),
  algorithm('sliding-log', LOG),
  algorithm('sliding-counter', COUNTER),
  algorithm('fixed-window', FIXED),
  algorithm('token-bucket', BUCKET),
  algorithm('sliding-log-and-token-bucket', LOG, BUCKET),
  algorithm('all-four-algorithms', LOG, COUNTER, FIXED, BUCKET),
  admitted('lease', 'Admitted, leased budgets, 1 key', {
    keys: 1,
    // More in a window than any log may hold.
    rules: [{ algorithm: 'fixed-window', limit: 1e9, windowMs: WINDOW }],
    contestants: [sliding, slidingLeased],
  }),
];

/** The masters of a cluster. rate-limit-redis loads its script on one node of its choice, and fails. */
export const CLUSTER = [1, 3].map((masters) =>
  admitted(`masters-${masters}`, `Cluster of ${masters}`, {
    masters,
    contestants: [sliding, flexibleRedis, throttler, incr],
  }),
);

/** Requests a second that arrive whether or not the earlier ones are answered. */
export const OPEN = [2000, 10_000, 30_000].map((rate) => ({
  ...admitted(`rate-${rate}`, `${rate.toLocaleString('en')} arrivals a second`),
  rate,
  contestants: [sliding, ...PEERS, zset, incr],
}));

/** Processes that share one server. */
export const GROWTH = {
  contestants: [sliding, flexibleRedis],
  scenario: admitted('growth', 'Processes', { callers: 32 }),
};
