-- A node's record, its leases, and the rules that touch nothing else.
--
-- Record (hash): state, caps, first, granted, hinted, name.
-- Leases (hash): lease id -> order, expires, deadline, attempt, confirmed, session, index, target.

local LEASE_VALUE = '^(%d+) (%d+) (%d+) (%d+) ([01]) (%d+) (%d+) ([%w-]+)$'

-- What a change at a node means at other homes: set by whole.lua or steps.lua.
local expiry_moved, room_changed, lease_ended, relist, node_gone
-- On a Cluster: the capabilities that the caller is asked to list the node with.
local wanted_caps

-- Causes of a refusal.
local OFFLINE, FULL, UNAVAILABLE, LEFT_POOL, EXCLUDED = 0, 1, 2, 3, 4

local HEARTBEAT_UNKNOWN = 45000000
local INTERVAL_MIN = 1000000
local FIRST_INTERVAL_MIN = 8000000
local USAGE_LIFE = 600000000
local LOSSES_MAX = 10
local LOSSES_WINDOW = 10000000

-- The record; nil where there is none. One that cannot be read is put aside with its leases: the
-- node has to register again, and gets jobs only when it has told what it runs.
local function load_node(num, key, leases_key)
  local stored = read('HMGET', key, 'state', 'caps', 'first', 'hinted')
  local busy = read('HLEN', leases_key)
  if not stored or not busy then
    quarantine(key)
    quarantine(leases_key)
    return nil
  end
  if not stored[1] and not stored[2] then return nil end
  local live, heard, draining, overused, generation, owner, max_jobs, class, until_, unleased,
    unleased_before, last_seen, interval, usage_known_at, loss_model, loss_ends, loss_count,
    barred_until = string.match(stored[1] or '', STATE)
  local first = tonumber(stored[3] or 0) -- readable
  local hinted = tonumber(stored[4] or -1)
  local capable = stored[2] and string.find(stored[2], CAPS)
  local readable = generation and first and hinted and capable
    and tonumber(generation) <= GENERATION_MAX and tonumber(owner) <= INSTANCE_MAX
    and tonumber(max_jobs) <= MAX_JOBS
  if not readable then
    quarantine(key)
    quarantine(leases_key)
    return nil
  end
  return {
    num = num, key = key, leases_key = leases_key,
    generation = tonumber(generation), live = live == '1', owner = tonumber(owner),
    max_jobs = tonumber(max_jobs), class = tonumber(class), heard = heard == '1',
    draining = draining == '1', overused = overused == '1', until_ = tonumber(until_),
    unleased = tonumber(unleased), unleased_before = tonumber(unleased_before),
    last_seen = tonumber(last_seen), interval = tonumber(interval),
    usage_known_at = tonumber(usage_known_at), loss_model = tonumber(loss_model),
    loss_ends = tonumber(loss_ends), loss_count = tonumber(loss_count),
    barred_until = tonumber(barred_until),
    caps = stored[2], first = first, hinted = hinted, leased = busy,
  }
end

local function bit_of(yes)
  return yes and 1 or 0
end

local function save_node(n)
  local state = string.format(STATE_FORMAT, bit_of(n.live), bit_of(n.heard), bit_of(n.draining),
    bit_of(n.overused), n.generation, n.owner, n.max_jobs, n.class, n.until_, n.unleased,
    n.unleased_before, n.last_seen, n.interval, n.usage_known_at, n.loss_model, n.loss_ends,
    n.loss_count, n.barred_until)
  redis.call('HSET', n.key, 'state', state, 'caps', n.caps)
end

local function is_current(n, generation)
  return n and n.live and n.generation == generation
end

-- Slots taken, by leases or by jobs the node has beyond them.
local function busy(n)
  return n.leased + n.unleased
end

-- The earliest expiry, or an earlier time: a look that finds nothing puts it right.
local function set_first(n, first)
  if first ~= n.first then
    redis.call('HSET', n.key, 'first', digits(first))
    n.first = first
    expiry_moved(n)
  end
end

local function save_lease(n, l)
  local value = string.format('%d %d %d %d %d %s %s %s', l.order, l.expires, l.deadline,
    l.attempt, bit_of(l.confirmed), l.session, l.index, l.tgt)
  redis.call('HSET', n.leases_key, l.id, value)
end

-- The job of a lease that cannot be read may be running: it holds its slot for the life of a
-- lease, for no request.
local function repaired(n, id)
  quarantined[#quarantined + 1] = n.leases_key
  local expires = now + LEASE
  local l = {
    id = id, order = 0, expires = expires, deadline = expires, attempt = 0, confirmed = false,
    session = 0, index = 0, tgt = '-',
  }
  save_lease(n, l)
  set_first(n, math.min(n.first, expires)) -- repaired
  return l
end

local function lease_of(n, id, stored)
  local order, expires, deadline, attempt, confirmed, session, index, tgt =
    string.match(stored, LEASE_VALUE)
  if not order then return repaired(n, id) end
  return {
    id = id, order = tonumber(order), expires = tonumber(expires), deadline = tonumber(deadline),
    attempt = tonumber(attempt), confirmed = confirmed == '1', session = session, index = index,
    tgt = tgt,
  }
end

-- All leases in order of grant.
local function leases_of(n)
  local stored = redis.call('HGETALL', n.leases_key)
  local leases = {}
  for at = 1, #stored, 2 do leases[#leases + 1] = lease_of(n, stored[at], stored[at + 1]) end
  table.sort(leases, function(a, b) return a.order < b.order end) -- no two are equal
  return leases
end

local function drop_lease(n, id)
  n.leased = n.leased - redis.call('HDEL', n.leases_key, id)
end

-- Ends the leases that have expired.
local function sweep_node(n)
  if n.first > now then return end
  local first = NEVER
  for _, l in ipairs(leases_of(n)) do
    if l.expires <= now then
      drop_lease(n, l.id)
      lease_ended(l)
    else
      first = math.min(first, l.expires)
    end
  end
  set_first(n, first) -- saves looks in vain
  room_changed(n)
end

-- The record of a node that registers, without leases that have expired. A new one may find leases
-- of a record that is lost: they are looked at at once.
local function standing(num, r, key, leases_key)
  local n = load_node(num, key, leases_key)
  if not n then
    n = {
      num = num, key = key, leases_key = leases_key,
      generation = 0, owner = r.owner, max_jobs = r.max_jobs, class = -1, caps = r.caps,
      until_ = HEARTBEAT_UNKNOWN, unleased = 0, unleased_before = 0, last_seen = 0, interval = 0,
      usage_known_at = 0, loss_model = -1, loss_ends = 0, loss_count = 0, barred_until = 0,
      first = 0, hinted = -1, leased = redis.call('HLEN', leases_key),
    }
    redis.call('HSET', key, 'name', r.name)
  end
  sweep_node(n)
  return n
end

-- Opens the generation of a node that is listed, or ends that of one for which a pair had no room.
-- Nothing is granted before its first heartbeat, so it stands in no index.
local function seat(n, listed, r)
  n.live = listed ~= nil -- no room
  n.class = -1
  if listed then
    -- A slot that has lost writes must not give a generation twice.
    n.generation = math.max(n.generation + 1, listed.generation)
    n.class = listed.class
    n.caps = r.caps
    n.owner = r.owner
    n.max_jobs = r.max_jobs
    n.draining = false
    n.overused = false
    n.unleased = 0
    n.unleased_before = 0
    n.last_seen = now
    n.interval = 0
    n.heard = false
    n.until_ = now + HEARTBEAT_UNKNOWN
  end
  save_node(n)
end

-- A heartbeat has come. One that comes early shortens the interval only little by little.
local function beat(n)
  if n.heard then
    local least = FIRST_INTERVAL_MIN
    if n.interval > 0 then least = math.max(math.floor(n.interval / 4) * 3, INTERVAL_MIN) end
    n.interval = math.max(now - n.last_seen, least)
  end
  n.heard = true
  n.last_seen = now
  n.until_ = now + (n.interval > 0 and n.interval * 3 or HEARTBEAT_UNKNOWN)
end

-- Renews confirmed leases, newest first, up to what the node says it runs: a leaked lease is among
-- the oldest and is left to expire.
local function renew(n, leases, running)
  local skip = -running
  for _, l in ipairs(leases) do
    if l.confirmed then skip = skip + 1 end
  end
  for _, l in ipairs(leases) do
    if l.confirmed then
      if skip > 0 then
        skip = skip - 1
      else
        l.expires = math.min(now + LEASE, l.deadline)
        save_lease(n, l)
      end
    end
  end
end

-- Why a node cannot take the job right now; nil: it can.
local function why_not(n, needs, excluded)
  if not n or not n.live or n.until_ <= now then return OFFLINE end
  if lists(excluded, n.num) then return EXCLUDED end
  if not n.heard or n.draining or n.overused then return UNAVAILABLE end
  if n.class < 0 or not fits(n.caps, needs) then return LEFT_POOL end
  if needs.model >= 0 and n.loss_model == needs.model and n.barred_until > now then
    return UNAVAILABLE
  end
  if busy(n) >= n.max_jobs then return FULL end
  return nil
end

-- Takes a slot on a node that can take the job. `job`: lease, instance, deadline (span), attempt,
-- session, index, tgt.
local function grant(n, job)
  -- Who holds the node's socket sends at once; anyone else has to route and confirm first.
  local confirmed = n.owner == job.instance
  local deadline = now + job.deadline
  local life = confirmed and LEASE or UNCONFIRMED
  local l = {
    id = job.lease, order = redis.call('HINCRBY', n.key, 'granted', 1),
    expires = math.min(now + life, deadline), deadline = deadline, attempt = job.attempt,
    confirmed = confirmed, session = job.session, index = job.index, tgt = job.tgt,
  }
  save_lease(n, l)
  n.leased = n.leased + 1
  set_first(n, math.min(n.first, l.expires))
  if busy(n) >= n.max_jobs then room_changed(n) end
end

-- Counts a MODEL_NOT_AVAILABLE: ten of one model in ten seconds bar the node from it for ten.
local function count_loss(n, model)
  if n.loss_model ~= model or n.loss_ends <= now then
    n.loss_model, n.loss_ends, n.loss_count, n.barred_until = model, now + LOSSES_WINDOW, 0, 0
  end
  n.loss_count = n.loss_count + 1
  if n.loss_count >= LOSSES_MAX then n.barred_until = now + LOSSES_WINDOW end
end
