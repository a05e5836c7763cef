--[[
  amendments: the operations on limits: what changes a state outside of a decision.

  refund   algorithm, cost, chargedAt, numbers...
  block    algorithm, durationMs (0 lifts the block), numbers...
  reset    nothing; forgets the state, and a block with it
  Cost     that of the algorithm
]]
local operations = {}

function operations.refund(key, first, count)
  local algorithm = algorithms[ARGV[first]]
  local numbers = numbers_of(first + 3, count - 3, algorithm.width)
  algorithm.refund(key, numbers, int(ARGV[first + 1]), int(ARGV[first + 2]))
  return {}
end

function operations.block(key, first, count)
  local algorithm, duration = algorithms[ARGV[first]], int(ARGV[first + 1])
  local numbers = numbers_of(first + 2, count - 2, algorithm.width)
  algorithm.block(key, numbers, duration > 0 and now + duration or 0)
  return {}
end

function operations.reset(key)
  return { call('DEL', key) }
end
