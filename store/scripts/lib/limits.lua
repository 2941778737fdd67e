-- The time, names and limits that steps share; no function, since each is made anew at every call.
-- Before this stand the rules, one line of locals: LEASE, UNCONFIRMED, ANSWER_LIFE (µs),
-- USAGE_MAX (permille; out of reach where it is not looked at), POOL_RULE (0 asr-x-tts, 1 asr-x-semantic, 2 f2f),
-- SHARD_SIZE (members).

-- ARGV[1] is the time in microseconds; empty: the store's own.
local now = tonumber(ARGV[1])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local DIR = 'lingua:v1:{dir}:'

-- Node numbers have seven digits in sorted sets, so that the order of bytes is their order.
local WIDE = '%07d'

-- What may be collected as rubbish lies about for so long at least, ms.
local RUBBISH_MIN = 60000

-- Later than any time.
local NEVER = 9007199254740991
