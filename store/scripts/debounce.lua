-- Wins the right to do expensive work for a model once per window. Home: the model.
--
-- KEYS[1]  until when the window lasts
-- ARGV[1]  now, µs
-- ARGV[2]  window, µs
--
-- Reply: 1: the caller does the work; 0: another one has

local until_ = read_fields(KEYS[1], '^(%d+)$')
if until_ and tonumber(until_[1]) > now then return answer(0) end
local window = tonumber(ARGV[2])
redis.call('SET', KEYS[1], digits(now + window), 'PX', rubbish_after(window))
return answer(1)
