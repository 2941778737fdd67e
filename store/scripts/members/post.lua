-- A header for an instance.
-- KEYS[1] its inbox (stream)
-- ARGV[1] most entries, ARGV[2] the header
-- Reply: 1 it is in; 0 there is no room, since nothing that waits is ever dropped; -1 no inbox
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
return redis.call('XADD', KEYS[1], 'NOMKSTREAM', '*', 'header', ARGV[2]) and 1 or -1
