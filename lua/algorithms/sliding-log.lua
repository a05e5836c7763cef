--[[
  sliding-log: never more than `limit` units in any window [t, t + window).

  State    LIST of millisecond timestamps, oldest first, at most max(limit) entries; while a block
           stands, one more at the end: the instant it ends, negative
  Expires  longest window + an eighth of it + 1 s; set in the same script by the first charge in
           each eighth of the window, or by every charge where the time is sent
  Numbers  limit, windowMs, repeated per rule, longest window first
  Check    sliding_log_check(key, numbers, cost, reply, at) -> ok, memo, ahead, blocked_until
  Commit   sliding_log_commit(key, numbers, cost, memo, reply, at)
  Repair   sliding_log_repair(key, numbers, memo, blocked_until)
  Refund   sliding_log_refund(key, numbers, cost, charged_at): O(entries after charged_at)
  Block    sliding_log_block(key, numbers, until_ms): 0 lifts it
  Cost     O(1) for one rule, amortised; O(log n) reads for each further window and after idle time
  Clock    a step back: entries after now count as if made now, and are rewritten so
  Twin     lib/algorithms/sliding-log.ts
  Source   why a LIST and not a ZSET: docs/decisions/0003-list-instead-of-zset.md
]]
local sliding_log_width = 2

-- Above this a log costs more than it is worth: 10 bytes and an entry per unit.
local SLIDING_LOG_LONGEST = 100000

-- How many of the `size` entries are at or before `instant`, knowing that the first `from` are.
local function sliding_log_count_until(key, instant, from, size)
  local step, low, high = 1, from, size
  while low + step <= size do
    if tonumber(call('LINDEX', key, low + step - 1)) > instant then
      high = low + step - 1
      break
    end
    low = low + step
    step = step * 2
  end
  while low < high do
    local middle = floor((low + high) / 2)
    if tonumber(call('LINDEX', key, middle)) > instant then
      high = middle
    else
      low = middle + 1
    end
  end
  return low
end

-- Pushing in portions keeps a large cost within what one call may take.
local function sliding_log_push(key, count)
  while count > 0 do
    local portion = {}
    for i = 1, min(count, 1000) do
      portion[i] = now_text
    end
    call('RPUSH', key, unpack(portion))
    count = count - #portion
  end
end

local function sliding_log_check(key, numbers, cost, reply, at)
  local size = call('LLEN', key)
  local newest, oldest, blocked_until, mark = 0, 0, 0, 0
  if size > 0 then
    newest = tonumber(call('LINDEX', key, '-1'))
    if newest < 0 then
      blocked_until, mark, size = -newest, 1, size - 1
      newest = size > 0 and tonumber(call('LINDEX', key, '-2')) or 0
    end
    if size > 1 then
      oldest = tonumber(call('LINDEX', key, '0'))
    else
      oldest = newest
    end
  end
  local ahead = newest > now
  newest = min(newest, now)

  local ok, expired, expired_first = true, 0, 0
  for i = 1, #numbers, 2 do
    local limit, window = numbers[i], numbers[i + 1]
    if limit > SLIDING_LOG_LONGEST then
      error('SWARG a sliding-log of more than 100000 entries', 0)
    end
    local cutoff = now - window
    if newest <= cutoff then
      expired = size
    elseif oldest <= cutoff then
      expired = sliding_log_count_until(key, cutoff, expired, size)
    end
    if i == 1 then
      expired_first = expired
    end
    local live = size - expired
    local retry_after = 0
    if not (live + cost <= limit) then
      ok = false
      if cost > limit then
        retry_after = NEVER
      else
        local index = size - limit + cost - 1
        local leaves = index == 0 and oldest or tonumber(call('LINDEX', key, index))
        retry_after = min(leaves, now) + window - now
      end
    end
    reply[at] = max(0, limit - live)
    reply[at + 1] = retry_after
    reply[at + 2] = live > 0 and newest + window - now or 0
    at = at + 3
  end
  -- For commit: nil to repair first, else twice the entries that have expired, and 1 more to move
  -- the key's expiry, which one charge in each eighth of the window does for the others.
  local memo
  if mark == 0 and not ahead then
    local eighth = ceil(numbers[2] / 8)
    local moved = server_time and floor(newest / eighth) == floor(now / eighth)
    memo = 2 * expired_first + (moved and 0 or 1)
  end
  return ok, memo, ahead, blocked_until
end

-- Drops what has expired, and brings entries after now back to now; blocked_until 0 drops a block.
local function sliding_log_repair(key, numbers, _, blocked_until)
  local newest = tonumber(call('LINDEX', key, '-1') or nil)
  if not newest then
    return
  end
  local mark
  if newest < 0 then
    mark = call('RPOP', key)
    mark = blocked_until > 0 and mark or nil
  end
  local size = call('LLEN', key)
  local past = sliding_log_count_until(key, now, 0, size)
  if past < size then
    if past == 0 then
      call('DEL', key)
    else
      call('LTRIM', key, 0, past - 1)
    end
    sliding_log_push(key, size - past)
  end
  local expired = sliding_log_count_until(key, now - numbers[2], 0, size)
  if expired > 0 then
    call('LTRIM', key, expired, -1)
  end
  local life = numbers[2] + ceil(numbers[2] / 8)
  if mark then
    call('RPUSH', key, mark)
    life = max(life, blocked_until - now)
  end
  call('PEXPIRE', key, life + GRACE_MS)
end

local function sliding_log_commit(key, numbers, cost, memo, reply, at)
  if not memo then
    sliding_log_repair(key, numbers, memo, 0)
    memo = 1
  elseif memo >= 4 then
    call('LTRIM', key, floor(memo / 2), '-1')
  elseif memo >= 2 then
    call('LPOP', key)
  end
  if cost == 1 then
    call('RPUSH', key, now_text)
  else
    sliding_log_push(key, cost)
  end
  if memo % 2 == 1 then
    call('PEXPIRE', key, numbers[2] + ceil(numbers[2] / 8) + GRACE_MS)
  end
  for i = 2, #numbers, 2 do
    reply[at] = reply[at] - cost
    reply[at + 2] = numbers[i]
    at = at + 3
  end
end

local function sliding_log_refund(key, _, cost, charged_at)
  -- LREM takes 0 for "all of them".
  if cost > 0 then
    call('LREM', key, -cost, string.format('%.0f', charged_at))
  end
end

local function sliding_log_block(key, numbers, until_ms)
  local life = max(call('PTTL', key), 1)
  local newest = tonumber(call('LINDEX', key, '-1') or nil)
  if newest and newest < 0 then
    call('RPOP', key)
  end
  if until_ms > 0 then
    call('RPUSH', key, string.format('-%.0f', until_ms))
    call('PEXPIRE', key, max(life, until_ms - now + GRACE_MS))
  end
end
