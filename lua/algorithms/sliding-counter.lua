--[[
  sliding-counter: never more than `limit` units in any window; may refuse up to one slice's units
  too long.

  A window of n slices is counted over n + 1 of them: the oldest has partly left the window and
  still counts whole, which is what makes the limit hard. Rules with one slice length share a ring.

  State    STRING, per ring: see lua/slices.lua
  Expires  longest window + one slice + 1 s, set in the same command
  Numbers  limit, sliceMs, slices, longestSlices of the rule's ring, repeated per rule; rules of a
           ring stand together, its longest window first
  Check    sliding_counter_check(key, numbers, cost, reply, at) -> ok, memo, ahead, blocked_until
  Commit   sliding_counter_commit(key, numbers, cost, memo, reply, at)
  Repair   sliding_counter_repair(key, numbers, memo, blocked_until)
  Refund   sliding_counter_refund(key, numbers, cost, charged_at): nothing of a slice that has left
  Block    sliding_counter_block(key, numbers, until_ms): 0 lifts it
  Cost     O(slices passed); a denial walks on to the slice that frees enough, O(slices)
  Clock    a step back: what lies in later slices counts in the present one
  Twin     lib/algorithms/sliding-counter.ts
  Source   a ring of n slices admits 2 x limit; n + 1 never: docs/algorithms/sliding-counter.md
]]
local sliding_counter_width = 4

-- Per ring: its first rule, the slices of each window, slice length, slices, where its bytes start.
local function sliding_counter_rings(numbers)
  local rings, size = {}, 0
  for r = 1, #numbers / 4 do
    local slice_ms, slices, longest = numbers[4 * r - 2], numbers[4 * r - 1], numbers[4 * r]
    local ring = rings[#rings]
    if not ring or ring.slice_ms ~= slice_ms then
      ring = { rule = r, slice_ms = slice_ms, slices = longest, lengths = {} }
      rings[#rings + 1] = ring
    end
    if slices > ring.slices or longest ~= ring.slices then
      error('SWARG a window longer than its ring', 0)
    end
    ring.lengths[#ring.lengths + 1] = slices
    ring.windows = #ring.lengths
  end
  for i = 1, #rings do
    rings[i].from = size + 1
    size = size + slices_size(rings[i].windows, rings[i].slices)
  end
  return rings, size
end

-- Adds to each ring the present slice and the sums as of it.
local function sliding_counter_load(key, numbers)
  local rings, size = sliding_counter_rings(numbers)
  local data, blocked_until = packed_load(key, size)
  local ahead = false
  for i = 1, #rings do
    local ring = rings[i]
    ring.slice = floor(now / ring.slice_ms)
    ring.sums = {}
    if data and parse('<d', data, ring.from) > ring.slice then
      data, ahead = slices_step_back(data, ring.from, ring.lengths, ring.slice), true
    end
    for w = 1, ring.windows do
      ring.sums[w] = data
          and slices_sum(data, ring.from, ring.windows, w, ring.lengths[w], ring.slices, ring.slice)
        or 0
    end
  end
  return { data = data, rings = rings }, ahead, blocked_until
end

-- Milliseconds until the oldest slices that hold `excess` units have left a window of n slices.
local function sliding_counter_wait(data, ring, n, excess)
  local last = parse('<d', data, ring.from)
  local newest = ring.from + 8 * (1 + ring.windows + ring.slices)
  local slice = max(ring.slice - n, last - ring.slices)
  while slice <= last do
    excess = excess - parse('<d', data, newest - 8 * (last - slice))
    if excess <= 0 then
      break
    end
    slice = slice + 1
  end
  return (slice + n + 1) * ring.slice_ms - now
end

-- Milliseconds until the newest slice that holds anything has left a window of n slices.
local function sliding_counter_empty_in(data, ring, n)
  local slice = parse('<d', data, ring.from)
  local place = ring.from + 8 * (1 + ring.windows + ring.slices)
  while parse('<d', data, place) == 0 do
    slice, place = slice - 1, place - 8
  end
  return (slice + n + 1) * ring.slice_ms - now
end

local function sliding_counter_check(key, numbers, cost, reply, at)
  local memo, ahead, blocked_until = sliding_counter_load(key, numbers)
  local ok = true
  for i = 1, #memo.rings do
    local ring = memo.rings[i]
    for w = 1, ring.windows do
      local rule = 4 * (ring.rule + w - 1)
      local limit, slices, sum = numbers[rule - 3], ring.lengths[w], ring.sums[w]
      local retry_after = 0
      if not (sum + cost <= limit) then
        ok = false
        retry_after = cost > limit and NEVER
          or sliding_counter_wait(memo.data, ring, slices, sum + cost - limit)
      end
      reply[at] = max(0, limit - sum)
      reply[at + 1] = retry_after
      reply[at + 2] = sum > 0 and sliding_counter_empty_in(memo.data, ring, slices) or 0
      at = at + 3
    end
  end
  return ok, memo, ahead, blocked_until
end

local function sliding_counter_save(key, numbers, memo, add, blocked_until)
  local data, life = {}, 0
  for i = 1, #memo.rings do
    local ring = memo.rings[i]
    data[i] =
      slices_write(memo.data, ring.from, ring.windows, ring.slices, ring.slice, add, ring.sums)
    life = max(life, (ring.slices + 1) * ring.slice_ms)
  end
  packed_save(key, table.concat(data), life, blocked_until)
end

local function sliding_counter_repair(key, numbers, memo, blocked_until)
  sliding_counter_save(key, numbers, memo, 0, blocked_until)
end

local function sliding_counter_commit(key, numbers, cost, memo, reply, at)
  for i = 1, #memo.rings do
    local ring = memo.rings[i]
    for w = 1, ring.windows do
      ring.sums[w] = ring.sums[w] + cost
      reply[at] = reply[at] - cost
      reply[at + 2] = (ring.slice + ring.lengths[w] + 1) * ring.slice_ms - now
      at = at + 3
    end
  end
  sliding_counter_save(key, numbers, memo, cost, 0)
end

local function sliding_counter_refund(key, numbers, cost, charged_at)
  local memo, _, blocked_until = sliding_counter_load(key, numbers)
  if not memo.data then
    return
  end
  sliding_counter_save(key, numbers, memo, 0, blocked_until)
  -- Now every ring ends at the present slice.
  local data = call('GET', key)
  for i = 1, #memo.rings do
    local ring = memo.rings[i]
    local back = ring.slice - floor(charged_at / ring.slice_ms)
    if back >= 0 and back <= ring.slices then
      local place = ring.from + 8 * (1 + ring.windows + ring.slices - back)
      local given = min(cost, parse('<d', data, place))
      call('SETRANGE', key, place - 1, pack('<d', parse('<d', data, place) - given))
      for w = 1, ring.windows do
        if back <= ring.lengths[w] then
          call('SETRANGE', key, ring.from - 1 + 8 * w, pack('<d', ring.sums[w] - given))
        end
      end
    end
  end
end

local function sliding_counter_block(key, numbers, until_ms)
  local _, size = sliding_counter_rings(numbers)
  packed_block(key, size, until_ms)
end
