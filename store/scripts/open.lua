-- Writes a request's intent, unless one of the same attempt stands. Home: the session.
--
-- KEYS[1]  intent of the request
-- KEYS[2]  affinity of the session
-- ARGV[1]  now, µs
-- ARGV[2]  index of the utterance
-- ARGV[3]  attempt, from 1
-- ARGV[4]  lease
-- ARGV[5]  1: affinity goes before the target
-- ARGV[6]  node it shall point at; -1: none
-- ARGV[7]  only this generation of it; -1: any
-- ARGV[8]  how the node was found
-- ARGV[9]  span to the deadline, µs
--
-- Reply: 0 and the intent that stands; 1: superseded

local attempt = tonumber(ARGV[3])
local standing = load_intent(KEYS[1])
if standing and standing.attempt > attempt then return answer(SUPERSEDED) end
if standing and standing.attempt == attempt then return stands(standing, standing.ended) end
local span = tonumber(ARGV[9]) + ANSWER_LIFE
local intent = {
  attempt = attempt, lease = ARGV[4], ended = false, until_ = now + span,
  node = tonumber(ARGV[6]), generation = tonumber(ARGV[7]), via = ARGV[8],
  former = -1, former_lease = '0', former_attempt = '0',
}
if standing and not standing.ended and standing.node >= 0 then
  intent.former = standing.node
  intent.former_lease = standing.lease
  intent.former_attempt = digits(standing.attempt)
end
if ARGV[5] == '1' then
  local num, generation = affinity_of(KEYS[2], ARGV[2])
  if num then intent.node, intent.generation, intent.via = num, generation, '0' end
end
save_intent(KEYS[1], intent, rubbish_after(span))
return stands(intent, false)
