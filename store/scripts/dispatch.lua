-- Opens a request and reserves a slot for it: affinity, preferred node, candidates in order, then
-- a walk of the free index. One server.
--
-- KEYS[1]   answer of the request
-- KEYS[2]   affinity of the session; nodes, classes and pairs follow from these and the arguments
-- ARGV[1]   now, µs
-- ARGV[2]   session
-- ARGV[3]   index of the utterance
-- ARGV[4]   source language
-- ARGV[5]   target language
-- ARGV[6]   attempt, from 1
-- ARGV[7]   lease
-- ARGV[8]   instance that asks
-- ARGV[9]   features needed, upper 32 bits
-- ARGV[10]  features needed, lower 32 bits
-- ARGV[11]  model needed; -1: none
-- ARGV[12]  region preferred; -1: none
-- ARGV[13]  1: affinity is tried first
-- ARGV[14]  node asked for; -1: none
-- ARGV[15]  random word that starts the walk, 32 bits; -1: no walk
-- ARGV[16]  span to the deadline, µs
-- ARGV[17]  nodes to avoid, list
-- ARGV[18]… nodes to try, in order
--
-- Reply: outcome (0 granted, 1 repeated, 2 superseded, 3 no fitting node, 4 full), affinity
-- (0 none, 1 kept, 2 + cause missed), tried, node, generation, owner, lease, via

local session, index, tgt, attempt, lease = ARGV[2], ARGV[3], ARGV[5], ARGV[6], ARGV[7]
local job = {
  session = session, index = index, tgt = tgt, attempt = tonumber(attempt), lease = lease,
  instance = tonumber(ARGV[8]), deadline = tonumber(ARGV[16]),
}
local needs = {
  src = ARGV[4], tgt = tgt, high = tonumber(ARGV[9]), low = tonumber(ARGV[10]),
  model = tonumber(ARGV[11]), region = tonumber(ARGV[12]),
}
local preferred, word, excluded = tonumber(ARGV[14]), tonumber(ARGV[15]), ARGV[17]
local GRANTED, REPEATED, SUPERSEDED, NO_FITTING_NODE, ALL_FULL = 0, 1, 2, 3, 4
local VIA_AFFINITY, VIA_PREFERRED, VIA_CANDIDATE, VIA_SCAN = 0, 1, 2, 3
local NONE, KEPT, MISSED = 0, 1, 2

local nodes = {}
local function node(num)
  if nodes[num] == nil then nodes[num] = load_node(num, node_keys(num)) or false end
  return nodes[num]
end

local function sweep()
  for _, member in ipairs(read('ZRANGEBYSCORE', EXPIRIES, '-inf', digits(now)) or {}) do
    local num = tonumber(member)
    local n = num and node(num)
    if not n then
      redis.call('ZREM', EXPIRIES, member)
    elseif n.first > now then
      expiry_moved(n)
    else
      sweep_node(n)
    end
  end
end

-- A new attempt fences the former one: its slot is freed, its results no longer count.
local function fence(former)
  local n = node(tonumber(former[2]))
  if n then
    drop_lease(n, former[5])
    room_changed(n)
  end
  end_answer(KEYS[1], former[5])
end

-- Classes that meet the needs, region apart.
local function fitting()
  local pair = needs.src .. ':' .. needs.tgt
  local key = DIR .. 'pair:' .. pair
  if needs.model >= 0 then key = DIR .. 'model:' .. digits(needs.model) .. ':' .. pair end
  local classes = {}
  for _, class in ipairs(redis.call('ZRANGE', key, 0, -1)) do
    local can = redis.call('HMGET', DIR .. 'class:' .. class, 'high', 'low', 'region')
    if can[3] and covers(can[1], needs.high) and covers(can[2], needs.low) then
      classes[#classes + 1] = { key = free_index(class), region = tonumber(can[3]) }
    end
  end
  return classes
end

local function scan_classes(classes)
  local total = 0
  for _, class in ipairs(classes) do
    class.free = read('ZCOUNT', class.key, 0, 0) or 0
    total = total + class.free
  end
  if total == 0 then return nil end
  local start = pick(word, total)
  local strangers = {}
  local found = nil
  for step = 0, total - 1 do -- once around
    local rank = (start + step) % total
    local at = 1
    while rank >= classes[at].free do
      rank = rank - classes[at].free
      at = at + 1
    end
    local member = redis.call('ZRANGE', classes[at].key, rank, rank)[1]
    local n = node(tonumber(member) or -1)
    if not n then strangers[#strangers + 1] = { classes[at].key, member } end
    if not why_not(n, needs, excluded) then
      found = n
      break
    end
  end
  for _, stranger in ipairs(strangers) do redis.call('ZREM', stranger[1], stranger[2]) end
  return found
end

-- The node where the walk ends: own region first.
local function scan(classes)
  if needs.region < 0 then return scan_classes(classes) end
  local near, far = {}, {}
  for _, class in ipairs(classes) do
    local group = class.region == needs.region and near or far
    group[#group + 1] = class
  end
  return scan_classes(near) or scan_classes(far)
end

sweep()
local former = read_fields(KEYS[1], ANSWER)
if former and (former[7] == '0' or tonumber(former[7]) > now) then
  if tonumber(former[1]) > job.attempt then return answer(SUPERSEDED, NONE, 0) end
  if tonumber(former[1]) == job.attempt then
    return answer(REPEATED, NONE, 0, tonumber(former[2]), tonumber(former[3]),
      tonumber(former[4]), former[5], tonumber(former[6]))
  end
  fence(former)
end

local tried = 0
local affinity = NONE

local function granted(n, via)
  grant(n, job)
  if via == VIA_AFFINITY then affinity = KEPT end
  local stored = string.format('%s %d %d %d %s %d 0', attempt, n.num, n.generation, n.owner,
    lease, via)
  redis.call('SET', KEYS[1], stored, 'PX', rubbish_after(job.deadline + ANSWER_LIFE))
  return answer(GRANTED, affinity, tried, n.num, n.generation, n.owner, lease, via)
end

if ARGV[13] == '1' then
  local num, generation = affinity_of(KEYS[2], index)
  if num then
    tried = tried + 1
    local n = node(num)
    local no = OFFLINE
    if is_current(n, generation) then no = why_not(n, needs, excluded) end
    if not no then return granted(n, VIA_AFFINITY) end
    affinity = MISSED + no
  end
end

local function try(num, via)
  tried = tried + 1
  local n = node(num)
  if why_not(n, needs, excluded) then return nil end
  return granted(n, via)
end

if preferred >= 0 then
  local reply = try(preferred, VIA_PREFERRED)
  if reply then return reply end
end
for at = 18, #ARGV do
  local reply = try(tonumber(ARGV[at]), VIA_CANDIDATE)
  if reply then return reply end
end
local classes = fitting()
if word >= 0 then
  tried = tried + 1
  local n = scan(classes)
  if n then return granted(n, VIA_SCAN) end
end
for _, class in ipairs(classes) do
  if read('EXISTS', class.key) == 1 then return answer(ALL_FULL, affinity, tried) end
end
return answer(NO_FITTING_NODE, affinity, tried)
