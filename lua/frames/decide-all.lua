--[[
  decide-all: decisions over several states: every rule of every policy is checked first, then all
  are charged or none.

  A shadow policy never denies. It is charged as if it did: only when every policy would admit.

  KEYS     one per state, in order
  ARGV     [2] 'decide', or 'peek' to change nothing
           [3..] per decision: policies, then per policy: shadow (0 or 1), cost, blockMs, states,
           then per state: algorithm, rules, count of numbers, the numbers
  Returns  now, then per decision: 1 admitted / 0 denied / an error text; then per policy: 1 would
           admit / 0 would deny; then per rule remaining, retryAfterMs (-1: never), resetMs
  Cost     that of the algorithms, per state
]]
local reply, at, key, cursor = { now }, 2, 0, 3
local peek = ARGV[2] == 'peek'

local function read_decision()
  local policies, place = {}, at + 1
  local count = positive(ARGV[cursor])
  cursor = cursor + 1
  for p = 1, count do
    local policy = {
      shadow = ARGV[cursor] == '1',
      cost = ARGV[cursor + 1],
      block_ms = ARGV[cursor + 2],
      place = place,
    }
    local states = positive(ARGV[cursor + 3])
    cursor, place = cursor + 4, place + 1
    for s = 1, states do
      key = key + 1
      local algorithm = algorithms[ARGV[cursor]]
      local rules, size = int(ARGV[cursor + 1]), int(ARGV[cursor + 2])
      -- Replies are as long as these say.
      if not algorithm or size > #ARGV or size ~= rules * algorithm.width then
        error('SWARG a state of wrong length or algorithm', 0)
      end
      policy[s] = {
        key = KEYS[key],
        algorithm = algorithm,
        rules = rules,
        first = cursor + 3,
        size = size,
        place = place,
      }
      cursor, place = cursor + 3 + size, place + 3 * rules
    end
    policies[p] = policy
  end
  return policies, place
end

local function check_policy(policy)
  local ok, blocked_until = true, 0
  policy.cost, policy.block_ms = int(policy.cost), int(policy.block_ms)
  for s = 1, #policy do
    local state = policy[s]
    state.numbers = numbers_of(state.first, state.size, state.algorithm.width)
    local admits
    admits, state.memo, state.ahead, state.blocked_until =
      state.algorithm.check(state.key, state.numbers, policy.cost, reply, state.place)
    ok = ok and admits
    blocked_until = max(blocked_until, state.blocked_until)
  end
  policy.blocked_until = blocked_until > now and blocked_until or 0
  policy.ok = ok and policy.blocked_until == 0
end

local function deny_policy_until(policy, until_ms)
  for s = 1, #policy do
    deny_until(until_ms, reply, policy[s].place, policy[s].rules)
  end
end

local function charge(policy)
  for s = 1, #policy do
    local state = policy[s]
    state.algorithm.commit(state.key, state.numbers, policy.cost, state.memo, reply, state.place)
  end
end

local function leave(policy)
  for s = 1, #policy do
    local state = policy[s]
    if state.ahead then
      state.algorithm.repair(state.key, state.numbers, state.memo, state.blocked_until)
    end
  end
  if not policy.ok and policy.blocked_until == 0 and policy.block_ms > 0 then
    policy.blocked_until = now + policy.block_ms
    policy[1].algorithm.block(policy[1].key, policy[1].numbers, policy.blocked_until)
  end
end

local function decide(policies)
  local enforced, all = true, true
  for p = 1, #policies do
    check_policy(policies[p])
    all = all and policies[p].ok
    enforced = enforced and (policies[p].ok or policies[p].shadow)
  end
  for p = 1, #policies do
    local policy = policies[p]
    if not peek then
      if all or (enforced and not policy.shadow) then
        if policy.cost > 0 then
          charge(policy)
        end
      else
        leave(policy)
      end
    end
    if policy.blocked_until > 0 then
      deny_policy_until(policy, policy.blocked_until)
    end
    reply[policy.place] = policy.ok and 1 or 0
  end
  reply[at] = enforced and 1 or 0
end

while cursor <= #ARGV do
  local policies, stop = read_decision()
  local done, failure = pcall(decide, policies)
  if not done then
    fail(failure, reply, at, stop - at - 1)
  end
  at = stop
end
return reply
