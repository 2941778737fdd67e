-- The common release: the lease is held by the attempt that gives it back, and its answer lives. As
-- with the common dispatch, it is decided before any function is made, nothing is written until it
-- is sure, and in any other case the steps below decide from the start. ARGV is theirs.

do
  local call, pcall, match, ARGV = redis.call, redis.pcall, string.match, ARGV
  local lease = ARGV[3]
  local key = 'lingua:v1:{s:' .. ARGV[5] .. '}:answer:' .. ARGV[6] .. ':' .. ARGV[7]
  local stored, held = pcall('HGET', KEYS[1], 'state'), pcall('HGET', KEYS[2], lease)
  local leased, kept = pcall('HLEN', KEYS[2]), pcall('GET', key)
  local readable = type(stored) == 'string' and type(held) == 'string' and type(kept) == 'string'
  local _, _, max_jobs, class, _, unleased = match(readable and stored or '', OPEN_STATE)
  local answer, of, ended = match(readable and kept or '', '^(%d+ %d+ %d+ %d+ (%d+) %d )(%d+)$')
  if max_jobs and match(held, '^%d+ %d+ %d+ (%d+) [01] %d+ %d+ [%w-]+$') == ARGV[4]
    and of == lease and ended == '0' -- otherwise its answer is lost
  then
    local left = max_jobs - leased - unleased
    local sure = left > 0 -- or the long way
    if left == 0 then
      local index = 'lingua:v1:{c:' .. class .. '}:free'
      local node = string.format(WIDE, ARGV[2])
      sure = type(pcall('ZADD', index, '0', node)) == 'number' -- readable
    end
    if sure then
      call('HDEL', KEYS[2], lease)
      local until_ = string.format('%d', now + ANSWER_LIFE)
      local rubbish = string.format('%d', RUBBISH_MIN + ANSWER_LIFE / 500)
      call('SET', key, answer .. until_, 'PX', rubbish)
      return { 0, 0, left == 0 and 1 or 0 }
    end
  end
end
