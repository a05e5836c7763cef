import { describe, expect, it } from '@jest/globals';
import { parseCandidate } from '../../lib/simulator/candidate.js';
import { Replay } from '../../lib/simulator/replay.js';
import { MOST_BUCKETS } from '../../lib/simulator/timeline.js';

/** Midnight: an edge of every fixed window. */
const MIDNIGHT = Date.UTC(2026, 0, 1);

function replayOf(...rules: string[]): Replay {
  return new Replay(rules.map(parseCandidate));
}

/** Which of the requests of one subject, at these seconds after midnight, are denied. */
function deniedAt(rule: string, seconds: readonly number[]): number[] {
  const replay = replayOf(rule);
  return seconds.filter((second) => {
    const before = replay.candidateReports(0)[0]!.denied;
    replay.add('ann', MIDNIGHT + second * 1000);
    return replay.candidateReports(0)[0]!.denied > before;
  });
}

describe('what would have been denied, computed by hand', () => {
  it('by a sliding log: until the oldest of two is ten seconds old', () => {
    expect(deniedAt('2/10s', [0, 4, 9.999, 10, 13.999, 14])).toEqual([9.999, 13.999]);
  });

  it('by a fixed window: the third of a window, and none right behind its edge', () => {
    expect(deniedAt('fixed-window:2/10s', [8, 9, 9.5, 10, 11, 12])).toEqual([9.5, 12]);
  });

  it('by a sliding counter: until the whole slice of the oldest is ten seconds old', () => {
    expect(deniedAt('sliding-counter:2/10s/2', [3, 4, 14.999, 15])).toEqual([14.999]);
  });

  it('by a token bucket: until a token has come back', () => {
    expect(deniedAt('token-bucket:2+1/10s', [0, 0.001, 9.999, 10, 10.001, 20])).toEqual([
      9.999, 10.001,
    ]);
  });

  it('by several rules: where one of them denies none is charged', () => {
    expect(deniedAt('1/1s,3/10s', [0, 0.5, 1, 2, 3, 10])).toEqual([0.5, 3]);
  });

  it('by rules of several algorithms together', () => {
    expect(deniedAt('fixed-window:2/10s,token-bucket:3+1/1h', [8, 9, 9.5, 10, 11])).toEqual([
      9.5, 11,
    ]);
  });
});

describe('a replay', () => {
  it('decides by each candidate as if it were alone', () => {
    const replay = replayOf('1/10s', '0/10s', '3/10s');
    for (const second of [0, 1, 2, 3]) replay.add('ann', MIDNIGHT + second * 1000);
    expect(replay.candidateReports(1)).toEqual([
      expect.objectContaining({ rule: '1/10s', requests: 4, admitted: 1, denied: 3 }),
      expect.objectContaining({ rule: '0/10s', requests: 4, admitted: 0, denied: 4 }),
      expect.objectContaining({ rule: '3/10s', requests: 4, admitted: 3, denied: 1 }),
    ]);
  });

  it('reports who was denied, when, how often and for how long', () => {
    const replay = replayOf('1/10s');
    const at = (second: number) => MIDNIGHT + second * 1000;
    replay.add('ann', at(0));
    replay.add('bob', at(1));
    replay.add('ann', at(4)); // 6 s left
    replay.add('ann', at(9)); // 1 s left
    replay.add('bob', at(61));
    replay.add('bob', at(62)); // 9 s left
    replay.add('cid', at(63));
    expect(replay.candidateReports(2)).toEqual([
      {
        rule: '1/10s',
        rules: [{ algorithm: 'sliding-log', limit: 1, windowMs: 10_000 }],
        requests: 7,
        admitted: 4,
        denied: 3,
        deniedPercent: 300 / 7,
        deniedSubjects: 2,
        firstDeniedAt: at(4),
        lastDeniedAt: at(62),
        worstMinute: { startAt: MIDNIGHT, denied: 2 },
        topSubjects: [
          {
            subject: 'ann',
            requests: 3,
            denied: 2,
            firstDeniedAt: at(4),
            longestRetryAfterMs: 6000,
          },
          {
            subject: 'bob',
            requests: 3,
            denied: 1,
            firstDeniedAt: at(62),
            longestRetryAfterMs: 9000,
          },
        ],
      },
    ]);
    expect(replay.candidateReports(1)[0]!.topSubjects).toHaveLength(1);
    expect([replay.requests, replay.subjects]).toEqual([7, 3]);
    expect([replay.firstAt, replay.lastAt]).toEqual([at(0), at(63)]);
  });

  it('says null where no wait helps, and where nothing happened', () => {
    const none = replayOf('0/1s');
    expect([none.firstAt, none.lastAt]).toEqual([null, null]);
    expect(none.candidateReports(5)[0]).toMatchObject({
      requests: 0,
      deniedPercent: 0,
      firstDeniedAt: null,
      lastDeniedAt: null,
      worstMinute: null,
      topSubjects: [],
    });
    none.add('ann', MIDNIGHT);
    expect(none.candidateReports(5)[0]!.topSubjects[0]!.longestRetryAfterMs).toBeNull();
  });

  it('never sets its clock back, and counts what would have done so', () => {
    const replay = replayOf('1/10s');
    replay.add('ann', MIDNIGHT + 20_000);
    replay.add('bob', MIDNIGHT + 5_000); // decided at 20 s
    replay.add('bob', MIDNIGHT + 16_000); // decided at 20 s
    replay.add('bob', MIDNIGHT + 29_999);
    replay.add('bob', MIDNIGHT + 30_000);
    expect([replay.outOfOrder, replay.largestStepBackMs]).toEqual([2, 15_000]);
    expect(replay.lastAt).toBe(MIDNIGHT + 30_000);
    expect(replay.candidateReports(1)[0]).toMatchObject({
      denied: 2,
      firstDeniedAt: MIDNIGHT + 20_000,
      lastDeniedAt: MIDNIGHT + 29_999,
    });
  });

  it('forgets nothing but what has expired', () => {
    const replay = replayOf('1/1h');
    for (let i = 0; i < 1000; i++) replay.add(`early-${i}`, MIDNIGHT);
    for (let second = 1; second < 3600; second++) replay.add('late', MIDNIGHT + second * 1000);
    for (let i = 0; i < 1000; i++) replay.add(`early-${i}`, MIDNIGHT + 3_599_999);
    expect(replay.candidateReports(0)[0]).toMatchObject({ denied: 3598 + 1000 });
    for (let i = 0; i < 1000; i++) replay.add(`early-${i}`, MIDNIGHT + 3_600_000);
    expect(replay.candidateReports(0)[0]).toMatchObject({ denied: 3598 + 1000 });
  });
});

describe('the timeline', () => {
  const DAY = 86_400_000;

  it.each([
    ['a minute', 60_000, 1000],
    ['an hour', 3_600_000, 30_000],
    ['a day', DAY, 600_000],
    ['a year', 365 * DAY, 2 * DAY],
  ])('of %s holds every request and every denial in its place', (_, span, bucketMs) => {
    const replay = replayOf('0/1s', '1000/1s');
    const start = MIDNIGHT + 1_234_567;
    const instants = Array.from({ length: 1000 }, (__, i) => start + Math.floor((span * i) / 1000));
    for (const at of instants) replay.add('ann', at);
    const timeline = replay.timelineReport();
    const expected = Array.from({ length: timeline.requests.length }, () => 0);
    for (const at of instants) expected[Math.floor((at - timeline.startAt) / timeline.bucketMs)]!++;
    expect(timeline.requests).toEqual(expected);
    expect(timeline.denied).toEqual([expected, expected.map(() => 0)]);
    expect(timeline.bucketMs).toBe(bucketMs);
    expect(timeline.startAt).toBe(Math.floor(start / bucketMs) * bucketMs);
    expect(timeline.requests.length).toBeLessThanOrEqual(MOST_BUCKETS);
  });

  it('of a jump over centuries is as short', () => {
    const replay = replayOf('1/1s');
    replay.add('ann', 0);
    replay.add('ann', Date.UTC(9999, 11, 31));
    const { requests } = replay.timelineReport();
    expect(requests.length).toBeLessThanOrEqual(MOST_BUCKETS);
    expect(requests.reduce((sum, count) => sum + count)).toBe(2);
  });
});
