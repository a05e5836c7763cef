import { randomUUID } from 'node:crypto';

/**
 * The origin: a sorted set scored by the time, as most sliding windows on Redis are written, with its
 * usual defects put right: the server's time, a member of its own for every event, nothing
 * recorded for a denial, an expiry always, and the time to wait in the reply.
 *
 * KEYS 1: the set; ARGV: the event's id, then limit and window of each rule, the longest window first.
 */
const SCRIPT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3])
local remaining, wait = nil, 0
for i = 2, #ARGV, 2 do
  local limit, window = tonumber(ARGV[i]), tonumber(ARGV[i + 1])
  local count
  if i == 2 then
    count = redis.call('ZCARD', KEYS[1])
  else
    count = redis.call('ZCOUNT', KEYS[1], now - window + 1, '+inf')
  end
  if count >= limit then
    local oldest = redis.call('ZREVRANGE', KEYS[1], limit - 1, limit - 1, 'WITHSCORES')
    wait = math.max(wait, oldest[2] + window - now)
  end
  remaining = math.min(remaining or limit, math.max(0, limit - count))
end
if wait > 0 then
  return { 0, remaining, wait }
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return { 1, remaining - 1, 0 }`;

export const zset = {
  id: 'zset',
  name: 'sorted set (ZSET)',
  async open({ client, prefix }, { rules }) {
    const sha = await client.script('LOAD', SCRIPT);
    const args = [...rules]
      .sort((a, b) => b.windowMs - a.windowMs)
      .flatMap(({ limit, windowMs }) => [limit, windowMs]);
    return {
      call: (key) => client.evalsha(sha, 1, prefix + key, randomUUID(), ...args),
      admitted: (reply) => reply[0] === 1,
      close: () => undefined,
    };
  },
};
