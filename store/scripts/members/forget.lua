-- An instance is no member any more: it leaves, or its presence has ended.
-- KEYS[1] presence, KEYS[2] about
-- ARGV[1] its number, ARGV[2] 1 where it leaves by itself, 0 where only an ended presence counts
-- Reply: whether it was forgotten
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
if ARGV[2] ~= '1' and ends and tonumber(ends) > now then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
