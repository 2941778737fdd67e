-- A node has other models: its class and shards on a Cluster. Home: the directory.
--
-- KEYS[1]  generations of the directory; its other keys have the same tag
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  generation: a later one has listed the node anew
-- ARGV[4]  capabilities, text; empty: it is to be unlisted
--
-- Reply: class; -1: unlisted, or nothing changed

local num, generation = ARGV[2], tonumber(ARGV[3])
local known = tonumber(redis.call('HGET', KEYS[1], num) or 0)
if known > generation then return answer(-1) end
if ARGV[4] == '' then
  unlist(num)
  return answer(-1)
end
-- The pairs are those it has just left, so there is room.
return answer(list(num, ARGV[4]) or -1)
