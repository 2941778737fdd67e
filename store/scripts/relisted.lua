-- A node is told its new class on a Cluster. Home: the node.
--
-- KEYS[1]  record of the node
-- KEYS[2]  leases of the node
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  generation
-- ARGV[4]  class
-- ARGV[5]  capabilities, text
--
-- Reply: 0: taken; 1: the generation is not current

local n = load_node(tonumber(ARGV[2]), KEYS[1], KEYS[2])
if not is_current(n, tonumber(ARGV[3])) then return answer(1) end
n.class = tonumber(ARGV[4])
n.caps = ARGV[5]
save_node(n)
return answer(0)
