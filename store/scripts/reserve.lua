-- Takes a slot for an intent, once per lease: the first verdict stands. Home: the node.
--
-- KEYS[1]   record of the node
-- KEYS[2]   leases of the node
-- KEYS[3]   verdict on the lease: cause of a refusal or g (granted), until
-- ARGV[1]   now, µs
-- ARGV[2]   number of the node
-- ARGV[3]   only this generation; -1: any
-- ARGV[4]   session
-- ARGV[5]   index of the utterance
-- ARGV[6]   source language
-- ARGV[7]   target language
-- ARGV[8]   attempt, from 1
-- ARGV[9]   lease
-- ARGV[10]  instance that opened the intent
-- ARGV[11]  features needed, upper 32 bits
-- ARGV[12]  features needed, lower 32 bits
-- ARGV[13]  model needed; -1: none
-- ARGV[14]  span to the deadline, µs
-- ARGV[15]  nodes to avoid, list
--
-- Reply: 0, filled, node, generation, owner; 1, cause; 2: the slot was held and is not any more

local HELD, REFUSED, OVER = 0, 1, 2
local REMEMBERED = 10000000
local lease = ARGV[9]
local meant = tonumber(ARGV[3])
local job = {
  session = ARGV[4], index = ARGV[5], tgt = ARGV[7], attempt = tonumber(ARGV[8]), lease = lease,
  instance = tonumber(ARGV[10]), deadline = tonumber(ARGV[14]),
}
local needs = {
  src = ARGV[6], tgt = ARGV[7], high = tonumber(ARGV[11]), low = tonumber(ARGV[12]),
  model = tonumber(ARGV[13]),
}

local n = load_node(tonumber(ARGV[2]), KEYS[1], KEYS[2])
if not n then return answer(REFUSED, OFFLINE) end
sweep_node(n)

local function held()
  return answer(HELD, bit_of(busy(n) >= n.max_jobs), n.num, n.generation, n.owner)
end

local function remember(verdict, span)
  local value = verdict .. ' ' .. digits(now + span)
  redis.call('SET', KEYS[3], value, 'PX', rubbish_after(span))
end

if redis.call('HEXISTS', n.leases_key, lease) == 1 then return held() end
local verdict = read_fields(KEYS[3], '^([%dg]) (%d+)$')
if verdict and tonumber(verdict[2]) > now then
  if verdict[1] == 'g' then return answer(OVER) end
  return answer(REFUSED, tonumber(verdict[1]))
end
local no = OFFLINE
if meant < 0 or meant == n.generation then no = why_not(n, needs, ARGV[15]) end
if no then
  remember(no, REMEMBERED)
  return answer(REFUSED, no)
end
grant(n, job)
remember('g', job.deadline + REMEMBERED)
return held()
