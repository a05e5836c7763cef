--[[
  operate: operations on one key each; what an operation takes and gives is told in its own file.

  KEYS     one per operation, in order
  ARGV     [2..] per operation: its name, the count of its arguments, the arguments
  Returns  now, then per operation its array of integers, or an error text
  Cost     that of the operations
]]
local reply, cursor = { now }, 2
for i = 1, #KEYS do
  local operation, count = operations[ARGV[cursor]], int(ARGV[cursor + 1])
  local done, result = pcall(operation, KEYS[i], cursor + 2, count)
  reply[i + 1] = done and result or text_of(result)
  cursor = cursor + 2 + count
end
return reply
