-- The directory, for a snapshot. Home: the directory.
--
-- KEYS[1]  names of the directory
-- KEYS[2]  classes of the directory
-- KEYS[3]  listing of the directory
-- ARGV[1]  now, µs
--
-- Reply: how many names; capabilities and class in turn; number and listing in turn

return answer(redis.call('HLEN', KEYS[1]), redis.call('HGETALL', KEYS[2]),
  redis.call('HGETALL', KEYS[3]))
