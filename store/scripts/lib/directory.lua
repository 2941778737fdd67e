-- Who is there and what they can do. All keys have the tag {dir}.
--
-- names: hash name -> number. generations: hash number -> generation. classes: hash
-- capabilities -> class. listing: hash number -> class and a shard per pair. class:C: hash caps,
-- listed, high, low, region. pair:S:T and model:M:S:T: sorted sets of classes with nodes.
-- fill:S:T: hash shard -> members. room:S:T: sorted set of shards with room.

local NODES_MAX = 1048576
local SHARDS_MAX = 1000

-- Directed pairs of capabilities, in the order of the lists, which are sorted.
local function pairs_of(caps)
  local asr, semantic, tts = string.match(caps, CAPS)
  local src, tgt = asr, tts
  if POOL_RULE == 1 then tgt = semantic end
  if POOL_RULE == 2 then src, tgt = semantic, semantic end
  local pairs = {}
  for s in string.gmatch(src, '[^|]+') do
    for t in string.gmatch(tgt, '[^|]+') do
      if POOL_RULE ~= 2 or s ~= t then pairs[#pairs + 1] = s .. ':' .. t end
    end
  end
  return pairs
end

local function class_for(caps)
  local class = redis.call('HGET', DIR .. 'classes', caps)
  if class and redis.call('EXISTS', DIR .. 'class:' .. class) == 1 then return class end
  if not class then
    class = redis.call('HLEN', DIR .. 'classes')
    redis.call('HSET', DIR .. 'classes', caps, class)
  end
  local _, _, _, high, low, _, region = string.match(caps, CAPS)
  redis.call('HSET', DIR .. 'class:' .. class, 'caps', caps, 'listed', 0, 'high', high, 'low', low,
    'region', region)
  return class
end

-- A class without nodes is not in its pairs' lists, so that dead classes cost nothing.
local function count_in_class(class, caps, step)
  local entered = step == 1
  local others = redis.call('HINCRBY', DIR .. 'class:' .. class, 'listed', step)
  if entered then others = others - 1 end
  if others > 0 then return end
  for _, pair in ipairs(pairs_of(caps)) do
    local indexes = { DIR .. 'pair:' .. pair }
    for model in string.gmatch(models_of(caps), '%d+') do
      indexes[#indexes + 1] = DIR .. 'model:' .. model .. ':' .. pair
    end
    for _, index in ipairs(indexes) do
      if entered then
        redis.call('ZADD', index, class, class)
      else
        redis.call('ZREM', index, class)
      end
    end
  end
end

-- Takes a node out of the index, if it is there.
local function unlist(num)
  local listing = redis.call('HGET', DIR .. 'listing', num)
  if not listing then return end
  redis.call('HDEL', DIR .. 'listing', num)
  local numbers = string.gmatch(listing, '%d+')
  local class = numbers()
  local caps = redis.call('HGET', DIR .. 'class:' .. class, 'caps')
  if not caps then return end
  for _, pair in ipairs(pairs_of(caps)) do
    local shard = numbers()
    redis.call('HINCRBY', DIR .. 'fill:' .. pair, shard, -1)
    redis.call('ZADD', DIR .. 'room:' .. pair, shard, shard)
  end
  count_in_class(class, caps, -1)
end

-- Lists a node: its class, or nil and the pair that has no room.
local function list(num, caps)
  unlist(num)
  local class = class_for(caps)
  local pairs = pairs_of(caps)
  for _, pair in ipairs(pairs) do
    local room = redis.call('ZCARD', DIR .. 'room:' .. pair)
    if room == 0 and redis.call('HLEN', DIR .. 'fill:' .. pair) >= SHARDS_MAX then
      return nil, pair
    end
  end
  local listing = { class }
  for _, pair in ipairs(pairs) do
    local fill, room = DIR .. 'fill:' .. pair, DIR .. 'room:' .. pair
    local shard = redis.call('ZRANGE', room, 0, 0)[1] or redis.call('HLEN', fill)
    if redis.call('HINCRBY', fill, shard, 1) >= SHARD_SIZE then
      redis.call('ZREM', room, shard)
    else
      redis.call('ZADD', room, shard, shard)
    end
    listing[#listing + 1] = shard
  end
  redis.call('HSET', DIR .. 'listing', num, table.concat(listing, ' '))
  count_in_class(class, caps, 1)
  return tonumber(class)
end

-- A name's number, given for good, and its next generation once it is listed. Gives back the
-- number, the listing or nil, and the pair without room; a negative number: none is left.
local function enrol(name, caps)
  local num = redis.call('HGET', DIR .. 'names', name)
  if not num then
    num = redis.call('HLEN', DIR .. 'names')
    if num >= NODES_MAX then return -1 end
    redis.call('HSET', DIR .. 'names', name, num)
  end
  local class, full = list(num, caps)
  if not class then return tonumber(num), nil, full end
  local generation = redis.call('HINCRBY', DIR .. 'generations', num, 1)
  return tonumber(num), { class = class, generation = generation }
end
