-- A node's socket is gone for good. Home: the node; on a Cluster `unlist` follows.
--
-- KEYS[1]  record of the node
-- KEYS[2]  leases of the node
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  generation
--
-- Reply: 0: taken; 1: the generation is not current

local n = load_node(tonumber(ARGV[2]), KEYS[1], KEYS[2])
if not is_current(n, tonumber(ARGV[3])) then return answer(1) end
sweep_node(n) -- or the next step
n.live = false
room_changed(n)
n.class = -1
save_node(n)
node_gone(n)
return answer(0)
