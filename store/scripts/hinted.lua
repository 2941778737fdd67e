-- In which free index a node stands and shall stand. Home: the node; `hint` follows at the classes.
--
-- KEYS[1]  record of the node
-- KEYS[2]  leases of the node
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  1: it has a free slot
--
-- Reply: class where it stood, class where it shall stand; -1: none

local n = load_node(tonumber(ARGV[2]), KEYS[1], KEYS[2])
if not n then return answer(-1, -1) end
local class = -1
if ARGV[3] == '1' then class = n.class end
if class ~= n.hinted then redis.call('HSET', n.key, 'hinted', class) end
return answer(n.hinted, class)
