--[[
  event-log: events of a sliding window [t, t + window), counted; nothing is denied.

  State    ZSET of events scored by millisecond timestamp. Member '=' is not an event: its score is
           the longest window used on the key, negative, so that a look through a short window
           forgets nothing a longer one still counts
  Expires  longest window + 1 s, set in the same script on every write
  record   windowMs, member, threshold (0: none), clear (0 or 1) -> count, 1 if threshold reached
  count    windowMs -> count
  timeline windowMs, buckets -> the count of each bucket, oldest first
  remove   member -> 1 if it was there
  clear    -> 1 if there was anything
  Cost     O(log n), and O(expired) on a write
  Clock    a step back: events after now are dated now by the next write
  Twin     lib/algorithms/event-log.ts
  Source   one member per event, not per timestamp: events of one millisecond are counted apart
]]
local function event_log_longest(key)
  return -(tonumber(call('ZSCORE', key, '=') or nil) or 0)
end

-- Of a longer window than any used before, only what has been kept is known.
local function event_log_count(key, window)
  return call('ZCOUNT', key, max(now - min(window, event_log_longest(key)) + 1, 0), '+inf')
end

local function event_log_refresh(key, window)
  local longest = event_log_longest(key)
  local future = call('ZRANGEBYSCORE', key, '(' .. now_text, '+inf')
  for i = 1, #future do
    call('ZADD', key, now_text, future[i])
  end
  call('ZREMRANGEBYSCORE', key, 0, now - longest)
  if window > longest or call('ZCARD', key) == 1 then
    longest = window
    call('ZADD', key, -longest, '=')
  end
  call('PEXPIRE', key, longest + GRACE_MS)
end

local event_log = {}

function event_log.record(key, first)
  local window, member = positive(ARGV[first]), ARGV[first + 1]
  local threshold, clear = int(ARGV[first + 2]), ARGV[first + 3] == '1'
  event_log_refresh(key, window)
  local seen_at = tonumber(call('ZSCORE', key, member) or nil)
  if not seen_at or seen_at <= now - window then
    call('ZADD', key, now_text, member)
  end
  local count = event_log_count(key, window)
  local reached = threshold > 0 and count >= threshold
  if reached and clear then
    call('DEL', key)
  end
  return { count, reached and 1 or 0 }
end

function event_log.count(key, first)
  return { event_log_count(key, positive(ARGV[first])) }
end

function event_log.timeline(key, first)
  local window, buckets = positive(ARGV[first]), positive(ARGV[first + 1])
  if buckets > 1000 then
    error('SWARG more than 1000 buckets', 0)
  end
  local counts, from = {}, now - window
  local kept = now - event_log_longest(key)
  for i = 1, buckets do
    local to = now - window + floor(window * i / buckets)
    counts[i] = call('ZCOUNT', key, max(from + 1, kept + 1, 0), i == buckets and '+inf' or to)
    from = to
  end
  return counts
end

function event_log.remove(key, first)
  local recorded_at = tonumber(call('ZSCORE', key, ARGV[first]) or nil)
  local kept = recorded_at and recorded_at > now - event_log_longest(key)
  return { kept and call('ZREM', key, ARGV[first]) or 0 }
end

function event_log.clear(key)
  return { call('DEL', key) }
end
