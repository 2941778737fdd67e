-- Unties a session. Home: the session.
--
-- KEYS[1]  affinity of the session
-- ARGV[1]  now, µs
--
-- Reply: 0

redis.call('DEL', KEYS[1])
return answer(0)
