-- A node asks for no new jobs, or for jobs again. Home: the node.
--
-- KEYS[1]  record of the node
-- KEYS[2]  leases of the node
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  generation
-- ARGV[4]  1: no new jobs, 0: jobs again
--
-- Reply: 0: taken; 1: the generation is not current

local n = load_node(tonumber(ARGV[2]), KEYS[1], KEYS[2])
if not is_current(n, tonumber(ARGV[3])) then return answer(1) end
n.draining = ARGV[4] == '1'
save_node(n)
room_changed(n)
return answer(0)
