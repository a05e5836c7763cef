--[[
  token-bucket: at most `limit` units at once and `refill` per `windowMs` on average.

  The virtual-scheduling form of GCRA in exact integers: the debt is counted in 1/windowMs of a
  unit, so a millisecond pays back `refill` and a unit costs `windowMs`, whatever their ratio. The
  theoretical arrival time of the literature is charged_at + debt / refill.

  State    STRING, per rule: charged_at (ms), debt at that moment
  Expires  time until the bucket is full + 1 s, set in the same command
  Numbers  limit, windowMs, refill, repeated per rule
  Check    token_bucket_check(key, numbers, cost, reply, at) -> ok, memo, ahead, blocked_until
  Commit   token_bucket_commit(key, numbers, cost, memo, reply, at)
  Repair   token_bucket_repair(key, numbers, memo, blocked_until)
  Refund   token_bucket_refund(key, numbers, cost, charged_at): less what has been refilled since
  Block    token_bucket_block(key, numbers, until_ms): 0 lifts it
  Cost     O(rules)
  Clock    a step back: no time has passed, and the debt is dated now
  Twin     lib/algorithms/token-bucket.ts
  Source   ITU-T I.371 annex A; exactness: docs/decisions/0004-token-bucket-in-exact-integers.md
]]
local token_bucket_width = 3

local function token_bucket_load(key, numbers)
  local data, blocked_until = packed_load(key, 16 * #numbers / 3)
  local debts, ahead = {}, false
  for i = 1, #numbers / 3 do
    debts[i] = 0
    if data then
      local charged_at, debt = parse('<dd', data, 16 * i - 15)
      debts[i] = max(0, debt - max(0, now - charged_at) * numbers[3 * i])
      ahead = ahead or charged_at > now
    end
  end
  return debts, ahead, blocked_until, data
end

local function token_bucket_check(key, numbers, cost, reply, at)
  local debts, ahead, blocked_until = token_bucket_load(key, numbers)
  local ok = true
  for i = 1, #debts do
    local limit, window, refill = numbers[3 * i - 2], numbers[3 * i - 1], numbers[3 * i]
    local debt = debts[i]
    local capacity = limit * window
    -- Not debt + cost * window, which may be above 2^53 and lose a digit.
    local room = capacity - cost * window
    local retry_after = 0
    if not (debt <= room) then
      ok = false
      retry_after = cost > limit and NEVER or ceil((debt - room) / refill)
    end
    reply[at] = max(0, floor((capacity - debt) / window))
    reply[at + 1] = retry_after
    reply[at + 2] = ceil(debt / refill)
    at = at + 3
  end
  return ok, debts, ahead, blocked_until
end

local function token_bucket_repair(key, numbers, debts, blocked_until)
  local data, life = {}, 0
  for i = 1, #debts do
    data[i] = pack('<dd', now, debts[i])
    life = max(life, ceil(debts[i] / numbers[3 * i]))
  end
  packed_save(key, table.concat(data), life, blocked_until)
end

local function token_bucket_commit(key, numbers, cost, debts, reply, at)
  for i = 1, #debts do
    local limit, window, refill = numbers[3 * i - 2], numbers[3 * i - 1], numbers[3 * i]
    debts[i] = debts[i] + cost * window
    reply[at] = floor((limit * window - debts[i]) / window)
    reply[at + 2] = ceil(debts[i] / refill)
    at = at + 3
  end
  token_bucket_repair(key, numbers, debts, 0)
end

local function token_bucket_refund(key, numbers, cost, charged_at)
  local debts, _, blocked_until, data = token_bucket_load(key, numbers)
  if not data then
    return
  end
  for i = 1, #debts do
    local window, refill = numbers[3 * i - 1], numbers[3 * i]
    local refilled = max(0, now - charged_at) * refill
    debts[i] = max(0, debts[i] - max(0, cost * window - refilled))
  end
  token_bucket_repair(key, numbers, debts, blocked_until)
end

local function token_bucket_block(key, numbers, until_ms)
  packed_block(key, 16 * #numbers / 3, until_ms)
end
