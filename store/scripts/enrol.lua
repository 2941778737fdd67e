-- First half of a registration on a Cluster: number, class and shards. Home: the directory.
--
-- KEYS[1]  names of the directory; its other keys have the same tag
-- ARGV[1]  now, µs
-- ARGV[2]  name of the node
-- ARGV[3]  capabilities, text
--
-- Reply: 0, number, generation, class; 1, pair without room, number; 2: no number is left

local num, listed, full = enrol(ARGV[2], ARGV[3])
if num < 0 then return answer(2) end
if not listed then return answer(1, full, num) end
return answer(0, num, listed.generation, listed.class)
