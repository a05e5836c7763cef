--[[
  fixed-window: at most `limit` units per aligned window, so up to 2 x limit across an edge.

  State    STRING, per rule: the number of the window (floor(now / windowMs)), the units in it
  Expires  longest window + 1 s, set in the same command
  Numbers  limit, windowMs, repeated per rule, longest window first
  Check    fixed_window_check(key, numbers, cost, reply, at) -> ok, memo, ahead, blocked_until
  Commit   fixed_window_commit(key, numbers, cost, memo, reply, at)
  Repair   fixed_window_repair(key, numbers, memo, blocked_until)
  Refund   fixed_window_refund(key, numbers, cost, charged_at): nothing once the window has ended
  Block    fixed_window_block(key, numbers, until_ms): 0 lifts it
  Cost     O(rules)
  Clock    a step back: the count of a later window is taken for the present one
  Twin     lib/algorithms/fixed-window.ts
  Source   INCR with EXPIRE, the pattern of the Redis manual, made one atomic check-and-count
]]
local function fixed_window_load(key, numbers)
  local data, blocked_until = packed_load(key, 8 * #numbers)
  local counts, ahead = {}, false
  for i = 1, #numbers / 2 do
    counts[i] = 0
    if data then
      local index, count = parse('<dd', data, 16 * i - 15)
      local current = floor(now / numbers[2 * i])
      if index >= current then
        counts[i] = count
      end
      ahead = ahead or index > current
    end
  end
  return counts, ahead, blocked_until, data
end

local function fixed_window_check(key, numbers, cost, reply, at)
  local counts, ahead, blocked_until = fixed_window_load(key, numbers)
  local ok = true
  for i = 1, #counts do
    local limit, window, count = numbers[2 * i - 1], numbers[2 * i], counts[i]
    local ends = window - now % window
    local retry_after = 0
    if not (count + cost <= limit) then
      ok = false
      retry_after = cost > limit and NEVER or ends
    end
    reply[at] = max(0, limit - count)
    reply[at + 1] = retry_after
    reply[at + 2] = count > 0 and ends or 0
    at = at + 3
  end
  return ok, counts, ahead, blocked_until
end

local function fixed_window_repair(key, numbers, counts, blocked_until)
  local data = {}
  for i = 1, #counts do
    data[i] = pack('<dd', floor(now / numbers[2 * i]), counts[i])
  end
  packed_save(key, table.concat(data), numbers[2], blocked_until)
end

local function fixed_window_commit(key, numbers, cost, counts, reply, at)
  for i = 1, #counts do
    local window = numbers[2 * i]
    counts[i] = counts[i] + cost
    reply[at] = reply[at] - cost
    reply[at + 2] = window - now % window
    at = at + 3
  end
  fixed_window_repair(key, numbers, counts, 0)
end

local function fixed_window_refund(key, numbers, cost, charged_at)
  local counts, _, blocked_until, data = fixed_window_load(key, numbers)
  if not data then
    return
  end
  for i = 1, #counts do
    local window = numbers[2 * i]
    if floor(charged_at / window) == floor(now / window) then
      counts[i] = max(0, counts[i] - cost)
    end
  end
  fixed_window_repair(key, numbers, counts, blocked_until)
end

local function fixed_window_block(key, numbers, until_ms)
  packed_block(key, 8 * #numbers, until_ms)
end
