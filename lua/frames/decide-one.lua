--[[
  decide-one: decisions with one state each, all of one algorithm: the hot path.

  KEYS     one per decision, in order
  ARGV     [2..] runs of decisions of one policy and cost, until the end:
           decisions, rules, count of numbers, cost, blockMs, the numbers
  Returns  now, then per decision: 1 admitted / 0 denied / an error text, then per rule
           remaining, retryAfterMs (-1: never), resetMs
  Cost     that of the algorithm, per decision
]]
local reply, at, key = { now }, 2, 0

local function decide(state_key, numbers, rules, cost, block_ms)
  local ok, memo, ahead, blocked_until = check(state_key, numbers, cost, reply, at + 1)
  if blocked_until > now then
    if ahead then
      repair(state_key, numbers, memo, blocked_until)
    end
    deny_until(blocked_until, reply, at + 1, rules)
    reply[at] = 0
  elseif ok then
    if cost > 0 then
      commit(state_key, numbers, cost, memo, reply, at + 1)
    end
    reply[at] = 1
  else
    if ahead then
      repair(state_key, numbers, memo, blocked_until)
    end
    if block_ms > 0 then
      block(state_key, numbers, now + block_ms)
      deny_until(now + block_ms, reply, at + 1, rules)
    end
    reply[at] = 0
  end
end

local function read_run(first, count)
  return numbers_of(first + 2, count, width), int(ARGV[first]), int(ARGV[first + 1])
end

local cursor = 2
while cursor <= #ARGV do
  local decisions, rules, count = int(ARGV[cursor]), int(ARGV[cursor + 1]), int(ARGV[cursor + 2])
  -- The loops below are as long as these say.
  if decisions > #KEYS or count > #ARGV or count ~= rules * width then
    error('SWARG a run of wrong length', 0)
  end
  local fine, numbers, cost, block_ms = pcall(read_run, cursor + 3, count)
  for _ = 1, decisions do
    key = key + 1
    local done, failure = fine, numbers
    if fine then
      done, failure = pcall(decide, KEYS[key], numbers, rules, cost, block_ms)
    end
    if not done then
      fail(failure, reply, at, 3 * rules)
    end
    at = at + 1 + 3 * rules
  end
  cursor = cursor + 5 + count
end
return reply
