-- What an instance has left is cleared up: it is no member any more, unless it has come back.
-- KEYS[1] presence, KEYS[2] about, KEYS[3] figures, KEYS[4] joined
-- ARGV[1] its number
-- Reply: whether it is no member
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HDEL', KEYS[4], ARGV[1])
return 1
