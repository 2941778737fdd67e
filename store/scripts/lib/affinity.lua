-- A session's affinity. Home: the session.
--
-- node generation until only (-1: any utterance)

local AFFINITY = '^(%d+) (%d+) (%d+) (%-?%d+)$'

-- Where an utterance is tied to: node and generation, or nil.
local function affinity_of(key, index)
  local f = read_fields(key, AFFINITY)
  if not f or tonumber(f[3]) <= now then return nil end
  if f[4] ~= '-1' and f[4] ~= index then return nil end
  return tonumber(f[1]), tonumber(f[2])
end
