-- The common dispatch: a new request whose first node has a free slot, while no lease has expired.
-- It decides before any function is made, which would be most of its work. It writes nothing until
-- it is sure; in any other case the steps below decide from the start. ARGV is theirs.

do
  local call, pcall, format = redis.call, redis.pcall, string.format
  local ARGV = ARGV
  local node, via = ARGV[14], 1
  if node == '-1' then node, via = ARGV[18], 2 end
  -- As the names of keys have it: without zeros in front.
  local num = node and format('%d', node)
  local plain = num
    and ARGV[13] == '0'
    and ARGV[9] == '0'
    and ARGV[10] == '0'
    and ARGV[11] == '-1'
    and not string.find(ARGV[17], '|' .. num .. '|', 1, true)
  if plain and pcall('ZCOUNT', DIR .. 'expiries', '-inf', format('%d', now)) == 0
    and pcall('GET', KEYS[1]) == false -- or the long way
  then
    local home = 'lingua:v1:{n:' .. num .. '}:'
    local record, leases = home .. 'node', home .. 'leases'
    local stored = pcall('HMGET', record, 'state', 'first')
    local leased = pcall('HLEN', leases)
    local generation, owner, max_jobs, class, until_, unleased =
      string.match(stored[1] or '', OPEN_STATE)
    local readable = generation and type(leased) == 'number'
    readable = readable and tonumber(max_jobs) <= MAX_JOBS
      and tonumber(generation) <= GENERATION_MAX and tonumber(owner) <= INSTANCE_MAX -- readable
    if readable and tonumber(until_) > now
      and type(pcall('ZSCORE', DIR .. 'pair:' .. ARGV[4] .. ':' .. ARGV[5], class)) == 'string'
    then
      local span = tonumber(ARGV[16])
      local deadline = now + span
      local confirmed = owner == ARGV[8]
      local life = confirmed and LEASE or UNCONFIRMED
      local expires = math.min(now + life, deadline)
      local left = max_jobs - leased - unleased
      local first = tonumber(stored[2]) -- readable
      local sure = left > 0
      sure = sure and first -- readable
      if sure and left == 1 then
        local index = 'lingua:v1:{c:' .. class .. '}:free'
        sure = type(pcall('ZADD', index, '1', format(WIDE, num))) == 'number' -- readable
      end
      if sure and first > expires then
        local due, member = format('%d', expires), format(WIDE, num)
        sure = type(pcall('ZADD', DIR .. 'expiries', due, member)) == 'number' -- readable
        if sure then call('HSET', record, 'first', due) end
      end
      if sure then
        local attempt, lease = ARGV[6], ARGV[7]
        local order = call('HINCRBY', record, 'granted', '1')
        local value = format('%d %d %d %s %d %s %s %s', order, expires, deadline, attempt,
          confirmed and 1 or 0, ARGV[2], ARGV[3], ARGV[5])
        call('HSET', leases, lease, value)
        local answer = attempt .. ' ' .. num .. ' ' .. generation .. ' ' .. owner .. ' ' .. lease
          .. ' ' .. via .. ' 0'
        local rubbish = format('%d', RUBBISH_MIN + (span + ANSWER_LIFE) / 500)
        call('SET', KEYS[1], answer, 'PX', rubbish)
        return { 0, 0, 0, 1, num, generation, owner, lease, via }
      end
    end
  end
end
