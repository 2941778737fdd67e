-- All homes on one server: what a change at a node means elsewhere happens in the same step.
--
-- expiries: sorted set of nodes by their earliest expiry. free of a class: sorted set of the nodes
-- that may be given jobs, score 0 with a free slot, 1 without: a free one is found by its rank.
-- answer: attempt, node, generation, owner, lease, via, until (0 while its lease lives).

local EXPIRIES = DIR .. 'expiries'
local ANSWER = '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d) (%d+)$'

local function free_index(class)
  return 'lingua:v1:{c:' .. class .. '}:free'
end

local function node_keys(num)
  local home = 'lingua:v1:{n:' .. num .. '}:'
  return home .. 'node', home .. 'leases'
end

function expiry_moved(n)
  local num = string.format(WIDE, n.num)
  if n.first == NEVER then
    write('ZREM', EXPIRIES, num)
  else
    write('ZADD', EXPIRIES, n.first, num)
  end
end

local function leave_index(n)
  if n.class >= 0 then write('ZREM', free_index(n.class), string.format(WIDE, n.num)) end
end

local function may_take(n)
  return n.live and n.heard and not n.draining and not n.overused
end

function room_changed(n)
  if not may_take(n) then
    leave_index(n)
  elseif n.class >= 0 then
    local full = bit_of(busy(n) >= n.max_jobs)
    write('ZADD', free_index(n.class), full, string.format(WIDE, n.num))
  end
end

-- The answer whose lease has ended is kept for a while.
local function end_answer(key, lease)
  local a = read_fields(key, ANSWER)
  if not a or a[5] ~= lease or a[7] ~= '0' then return end
  if ANSWER_LIFE == 0 then
    redis.call('DEL', key)
    return
  end
  a[7] = digits(now + ANSWER_LIFE)
  redis.call('SET', key, table.concat(a, ' '), 'PX', rubbish_after(ANSWER_LIFE))
end

function lease_ended(l)
  end_answer('lingua:v1:{s:' .. l.session .. '}:answer:' .. l.index .. ':' .. l.tgt, l.id)
end
