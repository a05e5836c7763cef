--[[
  packed: state kept in one STRING of little-endian doubles, with an optional block at its end.

  A double holds integers up to 2^53 exactly and needs no text, so no digit is lost on the way.
  State    size bytes of the algorithm's own, then 8 more while a block stands: the instant it ends
  Cost     O(bytes)
]]
local function packed_load(key, size)
  local data = call('GET', key)
  if not data then
    return nil, 0
  end
  if #data == size then
    return data, 0
  end
  if #data ~= size + 8 then
    error('SWSTATE unexpected length of state', 0)
  end
  return data, (parse('<d', data, size + 1))
end

-- Writes the state, and the block behind it: one that is over goes with the next charge.
local function packed_save(key, data, life_ms, blocked_until)
  if blocked_until > 0 then
    data = data .. pack('<d', blocked_until)
    life_ms = max(life_ms, blocked_until - now)
  end
  call('SET', key, data, 'PX', life_ms + GRACE_MS)
end

-- Sets, moves or (with until_ms 0) lifts the block; the state of a key never seen is all zero.
local function packed_block(key, size, until_ms)
  local data = packed_load(key, size)
  if data or until_ms > 0 then
    data = string.sub(data or rep('\0', size), 1, size)
    packed_save(key, data, max(call('PTTL', key) - GRACE_MS, 1), until_ms)
  end
end
