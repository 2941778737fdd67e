-- Headers are dealt with: only now they leave the inbox.
-- KEYS[1] the inbox, ARGV[1] its consumer group, ARGV[2] and further: their ids
-- Reply: how many were there
local ids = {unpack(ARGV, 2)}
redis.call('XACK', KEYS[1], ARGV[1], unpack(ids))
return redis.call('XDEL', KEYS[1], unpack(ids))
