-- An instance is there, until so much time has passed.
-- KEYS[1] presence (sorted set: instances by the end of their presence, microseconds)
-- KEYS[2] about (hash: instance, what it says of itself)
-- KEYS[3] joined (hash: instance, since when it has been there without a break)
-- ARGV[1] its number, ARGV[2] life in microseconds, 0 to look only, ARGV[3] what it says of itself
-- Reply: since when it is there, so that a lost reply hides nothing; about all members, number and
-- text in turn; numbers of those that are present
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
if ARGV[2] ~= '0' then
  if redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[1]) == 1 then
    redis.call('HSET', KEYS[3], ARGV[1], string.format('%d', now))
  end
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
end
local since = redis.call('HGET', KEYS[3], ARGV[1]) or '0'
local present = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%d', now), '+inf')
return {since, redis.call('HGETALL', KEYS[2]), present}
