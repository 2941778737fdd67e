-- Capabilities as text, and what they are good for.

-- asr;semantic;tts;features high;features low;models;region, lists as |a|b|
local CAPS = '^([%w|-]*);([%w|-]*);([%w|-]*);(%d+);(%d+);([%d|]*);(%-?%d+)$'

local function lists(list, item)
  return string.find(list, '|' .. item .. '|', 1, true) ~= nil
end

local function covers(has, needed)
  return bit.band(has, needed) == bit.tobit(needed)
end

-- Whether what a node can do meets what is needed, region apart.
local function fits(caps, needs)
  local asr, semantic, tts, high, low, models = string.match(caps, CAPS)
  local src, tgt = asr, tts
  if POOL_RULE == 1 then tgt = semantic end
  if POOL_RULE == 2 then src, tgt = semantic, semantic end
  if not lists(src, needs.src) or not lists(tgt, needs.tgt) then return false end
  if POOL_RULE == 2 and needs.src == needs.tgt then return false end
  return covers(high, needs.high) and covers(low, needs.low)
    and (needs.model < 0 or lists(models, digits(needs.model)))
end

-- The node's text of capabilities with other models and features; -: as before.
local function with_changes(caps, models, high, low)
  local asr, semantic, tts, high0, low0, models0, region = string.match(caps, CAPS)
  if models == '-' then models = models0 end
  if high == '-' then high, low = high0, low0 end
  return table.concat({ asr, semantic, tts, high, low, models, region }, ';')
end

local function models_of(caps)
  local _, _, _, _, _, models = string.match(caps, CAPS)
  return models
end
