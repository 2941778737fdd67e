-- An instance is present no more: it leaves, or its presence has ended.
-- KEYS[1] presence
-- ARGV[1] its number, ARGV[2] 1 where it leaves by itself, 0 where only an ended presence counts
-- Reply: whether it is not present now
local ends = redis.call('ZSCORE', KEYS[1], ARGV[1])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
if ARGV[2] ~= '1' and ends and tonumber(ends) > now then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
return 1
