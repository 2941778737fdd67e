-- A node reports; its leases are renewed. Home: the node.
--
-- KEYS[1]  record of the node
-- KEYS[2]  leases of the node
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  generation
-- ARGV[4]  jobs it works on
-- ARGV[5]  its busiest resource, permille; -1: unknown
-- ARGV[6]  new max_jobs, 1..=1024; 0: as before
-- ARGV[7]  models present, list; -: as before
-- ARGV[8]  features offered, upper 32 bits; -: as before
-- ARGV[9]  features offered, lower 32 bits; -: as before
--
-- Reply: 0: taken; 1: the generation is not current; 2, capabilities: taken, and to be listed anew

local n = load_node(tonumber(ARGV[2]), KEYS[1], KEYS[2])
if not is_current(n, tonumber(ARGV[3])) then return answer(1) end
local running, busiest = tonumber(ARGV[4]), tonumber(ARGV[5])
local max_jobs = tonumber(ARGV[6])
sweep_node(n)
local caps = with_changes(n.caps, ARGV[7], ARGV[8], ARGV[9])
if caps ~= n.caps then relist(n, caps) end
beat(n)
if max_jobs >= 1 and max_jobs <= MAX_JOBS then n.max_jobs = max_jobs end
renew(n, leases_of(n), running)
local beyond = math.max(running - n.leased, 0)
n.unleased = math.min(beyond, n.unleased_before)
n.unleased_before = beyond
if busiest >= 0 then
  n.usage_known_at = now
  n.overused = busiest >= USAGE_MAX
elseif now - n.usage_known_at > USAGE_LIFE then
  n.overused = false
end
save_node(n)
room_changed(n)
if wanted_caps then return answer(2, wanted_caps) end
return answer(0)
