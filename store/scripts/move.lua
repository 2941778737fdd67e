-- Points an intent elsewhere if it still points to where the caller saw it. Home: the session.
--
-- KEYS[1]  intent of the request
-- ARGV[1]  now, µs
-- ARGV[2]  attempt
-- ARGV[3]  lease
-- ARGV[4]  node it points at; -1: none
-- ARGV[5]  node it shall point at; -1: none, the intent is taken away
-- ARGV[6]  only this generation of it; -1: any
-- ARGV[7]  how the node was found
--
-- Reply: 0 and the intent that stands; 1: superseded; 2: there is none of this attempt

local attempt, lease = tonumber(ARGV[2]), ARGV[3]
local intent = load_intent(KEYS[1])
if not intent then return answer(GONE) end
if intent.attempt > attempt then return answer(SUPERSEDED) end
if intent.attempt < attempt then return answer(GONE) end
-- No node took the attempt: whoever moves it may go on.
if intent.ended and intent.node < 0 and intent.lease == lease then return stands(intent, false) end
local seen = intent.node == tonumber(ARGV[4]) and intent.lease == lease
if not seen or intent.ended then return stands(intent, intent.ended) end
intent.node, intent.generation, intent.via = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
if intent.node >= 0 then
  save_intent(KEYS[1], intent)
elseif attempt > 1 then
  -- That there was a later attempt is stored, or an earlier one would be answered anew.
  intent.ended = true
  save_intent(KEYS[1], intent)
else
  redis.call('DEL', KEYS[1])
end
return stands(intent, false)
