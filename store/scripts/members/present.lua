-- An instance is there, until so much time has passed.
-- KEYS[1] presence (sorted set: instances by the end of their presence, microseconds)
-- KEYS[2] about (hash: instance, what it says of itself)
-- ARGV[1] its number, ARGV[2] life in microseconds, ARGV[3] what it says of itself
-- Reply: whether it was not a member; about all members, number and text in turn; numbers of those
-- whose presence has ended
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local joined = redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
local lapsed = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now)
return {joined, redis.call('HGETALL', KEYS[2]), lapsed}
