-- One step at the board of duties: who is a member, and who holds what. Home: the duties.
--
-- KEYS[1]  version: the token of the latest change
-- KEYS[2]  duties (hash duty -> holder: instance and token, or - where nobody holds it)
-- KEYS[3]  members (hash instance -> token, lease, whether it drains)
-- KEYS[4]  leases (sorted set of instances by the end of their lease)
-- ARGV[1]  now, µs
-- ARGV[2]  step: join, renew, leave, create, remove, claim, release, drain, end-drain, look
-- ARGV[3]  instance, or duty of create, remove, claim and release
-- ARGV[4]  join: lease, µs; renew, leave, release: token; drain: 1 also beside another one;
--          claim: instance
-- ARGV[5]  claim: token of the membership
--
-- Reply: 0 done (join and claim: and the token), 1 no: a duplicate, ended, taken or draining
-- (drain: and who else drains), 2 full, 3 unknown; look: version, members, duties as they lie here

local VERSION, DUTIES, MEMBERS, LEASES = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local CHANGED = 'lingua:v1:duties'
local DONE, NO, FULL, UNKNOWN = 0, 1, 2, 3
local DUTIES_MAX, INSTANCES_MAX = 65536, 4096
local MEMBER, HOLDER = '^(%d+) (%d+) ([01])$', '^(%d+) (%d+)$'
local NOBODY = '-'

-- A board that is new, or has lost its version, goes on above all tokens that it can have given.
local function change()
  if read('EXISTS', VERSION) == 0 then redis.call('SET', VERSION, digits(now)) end
  return redis.call('INCR', VERSION)
end

local function tell(what, id)
  local version = change()
  redis.call('PUBLISH', CHANGED, what .. ' ' .. id .. ' ' .. digits(version))
  return version
end

-- Fields and values of a hash, sorted by the number that each field is.
local function sorted(key)
  local flat = read('HGETALL', key) or {}
  local entries = {}
  for at = 1, #flat, 2 do
    local number = tonumber(flat[at])
    if number then entries[#entries + 1] = { number, flat[at], flat[at + 1] } end
  end
  table.sort(entries, function(a, b) return a[1] < b[1] end) -- no two are equal
  return entries
end

-- Token, lease and whether it drains; nil where there is no such member.
local function member(instance)
  local stored = read('HGET', MEMBERS, instance)
  if not stored then return nil end
  return string.match(stored, MEMBER)
end

local function holder(duty)
  local stored = read('HGET', DUTIES, duty)
  if not stored then return nil end
  local instance, token = string.match(stored, HOLDER)
  return instance or NOBODY, token
end

-- Ends a membership and all its claims.
local function finish(instance)
  redis.call('HDEL', MEMBERS, instance)
  redis.call('ZREM', LEASES, instance)
  tell('left', instance)
  for _, entry in ipairs(sorted(DUTIES)) do
    if string.match(entry[3], HOLDER) == instance then
      redis.call('HSET', DUTIES, entry[2], NOBODY)
      tell('released', entry[2])
    end
  end
end

local over = read('ZRANGEBYSCORE', LEASES, '-inf', digits(now)) or {}
table.sort(over, function(a, b) return (tonumber(a) or 0) < (tonumber(b) or 0) end) -- by number
for _, instance in ipairs(over) do finish(instance) end

local steps = {}

function steps.join(instance, lease)
  if member(instance) then return NO end
  if redis.call('HLEN', MEMBERS) >= INSTANCES_MAX then return FULL end
  local token = digits(tell('joined', instance))
  write('HSET', MEMBERS, instance, token .. ' ' .. lease .. ' 0')
  write('ZADD', LEASES, digits(now + tonumber(lease)), instance)
  return DONE, token
end

function steps.renew(instance, token)
  local own, lease = member(instance)
  if own ~= token then return NO end
  write('ZADD', LEASES, digits(now + tonumber(lease)), instance)
  return DONE
end

function steps.leave(instance, token)
  if member(instance) == token then finish(instance) end
  return DONE
end

function steps.create(duty)
  if holder(duty) then return DONE end
  if redis.call('HLEN', DUTIES) >= DUTIES_MAX then return FULL end
  redis.call('HSET', DUTIES, duty, NOBODY)
  tell('created', duty)
  return DONE
end

function steps.remove(duty)
  if redis.call('HDEL', DUTIES, duty) == 1 then tell('removed', duty) end
  return DONE
end

function steps.claim(duty, instance, membership)
  if member(instance) ~= membership then return UNKNOWN end
  if holder(duty) ~= NOBODY then return NO end
  local token = digits(change())
  redis.call('HSET', DUTIES, duty, instance .. ' ' .. token)
  return DONE, token
end

function steps.release(duty, token)
  local _, own = holder(duty)
  if own == token then
    redis.call('HSET', DUTIES, duty, NOBODY)
    tell('released', duty)
  end
  return DONE
end

local function set_drain(instance, drains, what)
  local token, lease, draining = member(instance)
  if draining ~= drains then
    redis.call('HSET', MEMBERS, instance, token .. ' ' .. lease .. ' ' .. drains)
    tell(what, instance)
  end
  return DONE
end

function steps.drain(instance, force)
  if not member(instance) then return UNKNOWN end
  for _, entry in ipairs(force ~= '1' and sorted(MEMBERS) or {}) do
    local _, _, draining = string.match(entry[3], MEMBER)
    if draining == '1' and entry[2] ~= instance then return NO, entry[2] end
  end
  return set_drain(instance, '1', 'drain')
end

steps['end-drain'] = function(instance)
  if not member(instance) then return UNKNOWN end
  return set_drain(instance, '0', 'end-drain')
end

function steps.look()
  local version = read('GET', VERSION) or '0'
  return version, read('HGETALL', MEMBERS) or {}, read('HGETALL', DUTIES) or {}
end

return answer(steps[ARGV[2]](ARGV[3], ARGV[4], ARGV[5]))
