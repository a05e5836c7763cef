--[[
  decisions: what the frames that decide have in common.

  Cost     O(rules)
]]

-- While a block stands nothing is left, and nothing passes before it ends.
local function deny_until(blocked_until, reply, at, rules)
  for _ = 1, rules do
    reply[at] = 0
    if reply[at + 1] ~= NEVER then
      reply[at + 1] = max(reply[at + 1], blocked_until - now)
    end
    reply[at + 2] = max(reply[at + 2], blocked_until - now)
    at = at + 3
  end
end

-- A failed decision says why where its outcome would stand; its other fields are zero.
local function fail(failure, reply, at, fields)
  reply[at] = text_of(failure)
  for i = at + 1, at + fields do
    reply[i] = 0
  end
end
