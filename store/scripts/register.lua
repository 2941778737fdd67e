-- A node opens a socket. One server.
--
-- KEYS[1]  names of the directory, and from it the node's own keys
-- ARGV[1]  now, µs
-- ARGV[2]  name of the node
-- ARGV[3]  capabilities, text
-- ARGV[4]  owner, instance number
-- ARGV[5]  max_jobs, 1..=1024
--
-- Reply: 0, number, generation; 1, pair without room; 2: no number is left

local r = {
  name = ARGV[2], caps = ARGV[3], owner = tonumber(ARGV[4]), max_jobs = tonumber(ARGV[5]),
}
local known = redis.call('HGET', KEYS[1], r.name)
local n = nil
if known then
  n = standing(tonumber(known), r, node_keys(known))
  leave_index(n)
end
local num, listed, full = enrol(r.name, r.caps)
if num < 0 then return answer(2) end
n = n or standing(num, r, node_keys(num))
seat(n, listed, r)
if not listed then return answer(1, full) end
return answer(0, num, n.generation)
