-- Intents of requests. Home: the session.
--
-- attempt lease ended until | target: node generation via | former: node lease attempt
-- No target, any generation and no former are -1.

local INTENT = '^(%d+) (%d+) ([01]) (%d+) (%-?%d+) (%-?%d+) (%d) (%-?%d+) (%d+) (%d+)$'

-- What stands; nil where there is none or its time is over.
local function load_intent(key)
  local f = read_fields(key, INTENT)
  if not f or tonumber(f[4]) <= now then return nil end
  return {
    attempt = tonumber(f[1]), lease = f[2], ended = f[3] == '1', until_ = tonumber(f[4]),
    node = tonumber(f[5]), generation = tonumber(f[6]), via = f[7],
    former = tonumber(f[8]), former_lease = f[9], former_attempt = f[10],
  }
end

-- `rubbish`: when it may be collected; nil: as before.
local function save_intent(key, i, rubbish)
  local text = string.format('%d %s %d %d %d %d %s %d %s %s', i.attempt, i.lease,
    i.ended and 1 or 0, i.until_, i.node, i.generation, i.via, i.former, i.former_lease,
    i.former_attempt)
  if rubbish then
    redis.call('SET', key, text, 'PX', rubbish)
  else
    redis.call('SET', key, text, 'KEEPTTL')
  end
end

local STANDS, SUPERSEDED, GONE = 0, 1, 2

local function stands(i, ended)
  return answer(STANDS, i.attempt, i.lease, ended and 1 or 0, i.node, i.generation,
    tonumber(i.via), i.former, i.former_lease, tonumber(i.former_attempt))
end
