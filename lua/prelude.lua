--[[
  prelude: what every script starts with; the only names a fragment may use besides its own.

  ARGV     [1] the time: '' for the server's TIME, else integer milliseconds since the epoch
  Gives    call floor ceil max min pack parse rep; now, now_text, server_time; int positive whole
           numbers_of text_of NEVER GRACE_MS
  Cost     O(1)
  Source   TIME is read once: two reads in one script may differ (Redis before 7.2)
]]
local call, pack, parse, rep = redis.call, struct.pack, struct.unpack, string.rep
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min

-- Sent for "no wait helps": a cost above the limit.
local NEVER = -1

-- A key outlives what it holds by this much, so that its expiry never decides anything.
local GRACE_MS = 1000

-- An integer a double holds exactly. NaN fails every comparison, so it is refused as well.
local function whole(n)
  return n and n >= 0 and n <= 9007199254740991 and n % 1 == 0
end

local function int(text)
  local n = tonumber(text)
  if not whole(n) then
    error('SWARG not an integer from 0 to 2^53-1: ' .. tostring(text), 0)
  end
  return n
end

local function positive(text)
  local n = int(text)
  if n == 0 then
    error('SWARG 0 where at least 1 is needed', 0)
  end
  return n
end

-- The numbers of a state's rules, `width` for each: first its limit, which alone may be 0.
local function numbers_of(first, count, width)
  if count < width or count % width > 0 then
    error('SWARG not numbers of whole rules: ' .. count, 0)
  end
  local numbers = {}
  for i = 1, count do
    local read = i % width == 1 and int or positive
    numbers[i] = read(ARGV[first + i - 1])
  end
  return numbers
end

-- redis.call raises a table on Redis 7 and later, a string before.
local function text_of(failure)
  return type(failure) == 'table' and failure.err or tostring(failure)
end

local server_time = ARGV[1] == ''
local now
if server_time then
  local time = call('TIME')
  now = time[1] * 1000 + floor(time[2] / 1000)
else
  now = int(ARGV[1])
end

-- '..' and tostring keep 14 digits of a number; this keeps all.
local now_text = string.format('%.0f', now)
