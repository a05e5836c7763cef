--[[
  slice-ring: counts per slice of time, and over a window of n slices (see lua/slices.lua).

  State    STRING: one ring with one window
  Expires  window + one slice + 1 s, set in the same command
  add      sliceMs, slices, by -> count of the present slice, sum of the window
  read     sliceMs, slices -> count of the present slice, sum of the window, then the counts of
           n + 1 slices, oldest first
  clear    -> 1 if there was anything
  Cost     add O(slices passed), read O(slices)
  Clock    a step back: what lies in later slices counts in the present one
  Twin     lib/algorithms/slice-ring.ts
  Source   absolute slice numbers, so that an idle turn of the ring is not taken for none
]]
local function slice_ring_load(key, slice_ms, n)
  local data = packed_load(key, slices_size(1, n))
  local slice = floor(now / slice_ms)
  local last = data and parse('<d', data) or slice
  if last > slice then
    data, last = slices_step_back(data, 1, { n }, slice), slice
  end
  local sum = data and slices_sum(data, 1, 1, 1, n, n, slice) or 0
  return data, slice, last, sum
end

local slice_ring = {}

function slice_ring.add(key, first)
  local slice_ms, n, by = positive(ARGV[first]), positive(ARGV[first + 1]), int(ARGV[first + 2])
  local data, slice, _, sum = slice_ring_load(key, slice_ms, n)
  sum = sum + by
  if not whole(sum) then
    error('SWARG the window would hold more than 2^53-1', 0)
  end
  data = slices_write(data, 1, 1, n, slice, by, { sum })
  packed_save(key, data, (n + 1) * slice_ms, 0)
  return { (parse('<d', data, #data - 7)), sum }
end

function slice_ring.read(key, first)
  local slice_ms, n = positive(ARGV[first]), positive(ARGV[first + 1])
  local data, slice, last, sum = slice_ring_load(key, slice_ms, n)
  local passed = data and slice - last or n + 1
  local counts = { 0, sum }
  for i = 0, n do
    local place = i + passed
    counts[i + 3] = data and place <= n and parse('<d', data, 17 + 8 * place) or 0
  end
  counts[1] = counts[n + 3]
  return counts
end

function slice_ring.clear(key)
  return { call('DEL', key) }
end
