-- Ties a session's next job to a node. Home: the session.
--
-- KEYS[1]  affinity of the session
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  generation
-- ARGV[4]  life, µs
-- ARGV[5]  only this utterance may use it; -1: any
--
-- Reply: 0

local life = tonumber(ARGV[4])
local value = table.concat({ ARGV[2], ARGV[3], digits(now + life), ARGV[5] }, ' ')
redis.call('SET', KEYS[1], value, 'PX', rubbish_after(life))
return answer(0)
