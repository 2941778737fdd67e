-- Makes a reservation last. Home: the node.
--
-- KEYS[1]  record of the node
-- KEYS[2]  leases of the node
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  generation
-- ARGV[4]  lease
--
-- Reply: 1: it lives; 0: it does not

local n = load_node(tonumber(ARGV[2]), KEYS[1], KEYS[2])
if not n then return answer(0) end
sweep_node(n)
if not is_current(n, tonumber(ARGV[3])) then return answer(0) end
local stored = redis.call('HGET', n.leases_key, ARGV[4])
if not stored then return answer(0) end
local l = lease_of(n, ARGV[4], stored)
l.confirmed = true
l.expires = math.min(now + LEASE, l.deadline)
save_lease(n, l)
return answer(1)
