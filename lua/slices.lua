--[[
  slices: counts per slice of time, oldest first, ending at the slice written last.

  Absolute slice numbers are kept, never positions alone: after any idle time it is known how
  many slices have passed, and which of them are empty.

        counts   | last-n | ... | last-1 | last |        n + 1 counts for a window of n slices
        window of n slices at slice s: the sum over [s - n, s], so the oldest, partly expired
        slice counts whole and the sum is never below the exact one

  State    last, the sum of each window, n + 1 counts: little-endian doubles
  Cost     O(slices passed since the last write)
]]
local ZERO = pack('<d', 0)

-- More would make every write of a key rewrite tens of kilobytes.
local MOST_SLICES = 3600

-- The bytes of one ring of `windows` windows whose longest has n slices.
local function slices_size(windows, n)
  if n > MOST_SLICES then
    error('SWARG more than 3600 slices', 0)
  end
  return 8 * (1 + windows + n + 1)
end

-- The sum of window number w (n slices; the longest has longest_n) as of slice `slice`.
local function slices_sum(data, from, windows, w, n, longest_n, slice)
  local last = parse('<d', data, from)
  local passed = slice - last
  if passed > n then
    return 0
  end
  local sum = parse('<d', data, from + 8 * w)
  local counts = from + 8 * (1 + windows)
  for i = longest_n - n, longest_n - n + passed - 1 do
    sum = sum - parse('<d', data, counts + 8 * i)
  end
  return sum
end

-- The ring as of slice `slice`, with `add` more in it and these sums.
local function slices_write(data, from, windows, n, slice, add, sums)
  local head = { pack('<d', slice) }
  for w = 1, windows do
    head[w + 1] = pack('<d', sums[w])
  end
  local passed = data and slice - parse('<d', data, from) or n + 1
  local counts
  if passed > n then
    counts = rep(ZERO, n) .. pack('<d', add)
  else
    local first = from + 8 * (1 + windows)
    local stop = first + 8 * (n + 1) - 1
    if passed == 0 then
      local newest = parse('<d', data, stop - 7)
      counts = string.sub(data, first, stop - 8) .. pack('<d', newest + add)
    else
      local kept = string.sub(data, first + 8 * passed, stop)
      counts = kept .. rep(ZERO, passed - 1) .. pack('<d', add)
    end
  end
  return table.concat(head) .. counts
end

-- The ring after the clock has stepped back to slice `slice`: what lies later counts in that
-- slice, and what lies before stays, so nothing leaves earlier than it would have. `lengths` has
-- the slices of each window, the longest first.
local function slices_step_back(data, from, lengths, slice)
  local windows, n = #lengths, lengths[1]
  local back = parse('<d', data, from) - slice
  local counts = {}
  for i = 0, n do
    counts[i] = 0
  end
  for i = 0, n do
    local place = min(i + back, n)
    counts[place] = counts[place] + parse('<d', data, from + 8 * (1 + windows + i))
  end
  local ring = { pack('<d', slice) }
  for w = 1, windows do
    local sum = 0
    for i = n - lengths[w], n do
      sum = sum + counts[i]
    end
    ring[w + 1] = pack('<d', sum)
  end
  for i = 0, n do
    ring[windows + 2 + i] = pack('<d', counts[i])
  end
  return string.sub(data, 1, from - 1) .. table.concat(ring) .. string.sub(data, from + 8 * #ring)
end
