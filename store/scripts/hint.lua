-- A node enters or leaves a free index. Home: the class.
--
-- KEYS[1]  free index of the class
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  1: it has a free slot
--
-- Reply: 0

local num = string.format(WIDE, tonumber(ARGV[2]))
if ARGV[3] == '1' then
  write('ZADD', KEYS[1], 0, num)
else
  write('ZREM', KEYS[1], num)
end
return answer(0)
