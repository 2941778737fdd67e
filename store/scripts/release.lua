-- Gives a slot back. Home: the node.
--
-- KEYS[1]  record of the node
-- KEYS[2]  leases of the node
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  lease
-- ARGV[4]  attempt that held it
-- ARGV[5]  session
-- ARGV[6]  index of the utterance
-- ARGV[7]  target language
--
-- Reply: 0, whether the node was full; 1: no such lease; 2: another attempt holds it

local FREED, NO_LEASE, STALE_ATTEMPT = 0, 1, 2
local n = load_node(tonumber(ARGV[2]), KEYS[1], KEYS[2])
if not n then return answer(NO_LEASE) end
local stored = redis.call('HGET', n.leases_key, ARGV[3])
if not stored then return answer(NO_LEASE) end
local _, _, _, attempt = string.match(stored, LEASE_VALUE)
if attempt ~= ARGV[4] then return answer(STALE_ATTEMPT) end
local was_full = busy(n) >= n.max_jobs
drop_lease(n, ARGV[3])
room_changed(n) -- where its answer is lost
lease_ended({ id = ARGV[3], session = ARGV[5], index = ARGV[6], tgt = ARGV[7] })
return answer(FREED, bit_of(was_full))
