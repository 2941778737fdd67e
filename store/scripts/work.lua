-- What a run of a duty writes: good only under the largest token that was ever seen. Home: the
-- duties.
--
-- KEYS[1]  work (hash duty -> token, how often it ran, instance that ran it last)
-- ARGV[1]  now, µs
-- ARGV[2]  duty
-- ARGV[3]  token of the claim
-- ARGV[4]  instance
--
-- Reply: 0, how often it ran; 1: refused, somebody has come after it

local stored = read('HGET', KEYS[1], ARGV[2])
local token, runs = string.match(stored or '0 0 0', '^(%d+) (%d+) %d+$')
if tonumber(token or 0) > tonumber(ARGV[3]) then return answer(1) end
runs = (runs or 0) + 1
write('HSET', KEYS[1], ARGV[2], ARGV[3] .. ' ' .. digits(runs) .. ' ' .. ARGV[4])
return answer(0, runs)
