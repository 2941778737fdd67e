-- Some nodes of a class that are said to have a free slot, from a random rank on. Home: the class.
--
-- KEYS[1]  free index of the class
-- ARGV[1]  now, µs
-- ARGV[2]  random word that starts the walk, 32 bits
-- ARGV[3]  nodes to leave out, list
-- ARGV[4]  how many at most
--
-- Reply: nodes in the order of the walk

local total = read('ZCARD', KEYS[1]) or 0
if total == 0 then return answer() end
local start, excluded, most = pick(tonumber(ARGV[2]), total), ARGV[3], tonumber(ARGV[4])
local found = {}
for step = 0, total - 1 do -- once around
  local rank = (start + step) % total
  local num = tonumber(redis.call('ZRANGE', KEYS[1], rank, rank)[1])
  if num and not string.find(excluded, '|' .. num .. '|', 1, true) then
    found[#found + 1] = num
    if #found == most then break end
  end
end
return answer(unpack(found))
