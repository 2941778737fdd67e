-- The session is told that a lease has ended. Home: the session.
--
-- KEYS[1]  intent of the request
-- ARGV[1]  now, µs
-- ARGV[2]  lease
--
-- Reply: 0

local intent = load_intent(KEYS[1])
if intent and intent.lease == ARGV[2] and not intent.ended then
  intent.ended = true
  save_intent(KEYS[1], intent)
end
return answer(0)
