-- Second half of a registration on a Cluster. Home: the node.
--
-- KEYS[1]  record of the node
-- KEYS[2]  leases of the node
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  name of the node
-- ARGV[4]  capabilities, text
-- ARGV[5]  owner, instance number
-- ARGV[6]  max_jobs, 1..=1024
-- ARGV[7]  generation that the directory gives; 0: a pair had no room
-- ARGV[8]  class
--
-- Reply: generation

local r = {
  name = ARGV[3], caps = ARGV[4], owner = tonumber(ARGV[5]), max_jobs = tonumber(ARGV[6]),
}
local listed = nil
if ARGV[7] ~= '0' then
  listed = { generation = tonumber(ARGV[7]), class = tonumber(ARGV[8]) }
end
local n = standing(tonumber(ARGV[2]), r, KEYS[1], KEYS[2])
seat(n, listed, r)
return answer(n.generation)
