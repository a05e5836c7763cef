--[[
  fixed-window: at most `limit` units per aligned window, so up to 2 x limit across an edge.

  State    STRING, per rule: the number of the window (floor(at / windowMs)), the units in it
  Expires  longest window + 1 s, set in the same command; twice that window after a step back
  Numbers  limit, windowMs, repeated per rule, longest window first
  Check    fixed_window_check(key, numbers, cost, reply, at) -> ok, memo, ahead, blocked_until
  Commit   fixed_window_commit(key, numbers, cost, memo, reply, at)
  Repair   fixed_window_repair(key, numbers, memo, blocked_until)
  Refund   fixed_window_refund(key, numbers, cost, charged_at): nothing once the window has ended
  Block    fixed_window_block(key, numbers, until_ms): 0 lifts it
  Cost     O(rules)
  Clock    a step back: the count of a later window stands until the one after the present ends, so
           that passing an edge again gives no new limit
  Twin     lib/algorithms/fixed-window.ts
  Source   INCR with EXPIRE, the pattern of the Redis manual, made one atomic check-and-count
]]
local fixed_window_width = 2

-- Per rule the window that counts and the units in it, and whether any was written further ahead.
local function fixed_window_load(key, numbers)
  local data, blocked_until = packed_load(key, 8 * #numbers)
  local held, ahead = {}, false
  for i = 1, #numbers, 2 do
    local current = floor(now / numbers[i + 1])
    held[i], held[i + 1] = current, 0
    if data then
      local index, count = parse('<dd', data, 8 * i - 7)
      if index >= current then
        held[i], held[i + 1] = min(index, current + 1), count
      end
      ahead = ahead or index > current + 1
    end
  end
  return held, ahead, blocked_until, data
end

local function fixed_window_check(key, numbers, cost, reply, at)
  local held, ahead, blocked_until = fixed_window_load(key, numbers)
  local ok = true
  for i = 1, #numbers, 2 do
    local limit, window, count = numbers[i], numbers[i + 1], held[i + 1]
    local ends = (held[i] + 1) * window - now
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
  return ok, held, ahead, blocked_until
end

local function fixed_window_repair(key, numbers, held, blocked_until)
  local data, life = {}, numbers[2]
  for i = 1, #numbers, 2 do
    data[i], data[i + 1] = pack('<d', held[i]), pack('<d', held[i + 1])
    if held[i] * numbers[i + 1] > now then
      life = 2 * numbers[2]
    end
  end
  packed_save(key, table.concat(data), life, blocked_until)
end

local function fixed_window_commit(key, numbers, cost, held, reply, at)
  for i = 1, #numbers, 2 do
    held[i + 1] = held[i + 1] + cost
    reply[at] = reply[at] - cost
    reply[at + 2] = (held[i] + 1) * numbers[i + 1] - now
    at = at + 3
  end
  fixed_window_repair(key, numbers, held, 0)
end

local function fixed_window_refund(key, numbers, cost, charged_at)
  local held, _, blocked_until, data = fixed_window_load(key, numbers)
  if not data then
    return
  end
  for i = 1, #numbers, 2 do
    if floor(charged_at / numbers[i + 1]) == held[i] then
      held[i + 1] = max(0, held[i + 1] - cost)
    end
  end
  fixed_window_repair(key, numbers, held, blocked_until)
end

local function fixed_window_block(key, numbers, until_ms)
  packed_block(key, 8 * #numbers, until_ms)
end
