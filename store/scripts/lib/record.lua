-- How a node's record tells its state, and within which limits.

-- live heard draining overused generation owner max_jobs class until unleased unleased_before
-- last_seen interval usage_known_at | model window_ends count barred_until (its model losses)
local STATE = '^([01]) ([01]) ([01]) ([01]) (%d+) (%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d+) (%d+) '
  .. '(%d+) (%d+) (%-?%d+) (%d+) (%d+) (%d+)$'
local STATE_FORMAT = '%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d'
-- The first of these for a node that may be given jobs: generation owner max_jobs class until
-- unleased.
local OPEN_STATE = '^1 1 0 0 (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) '

local MAX_JOBS = 1024
local GENERATION_MAX = 4294967295
local INSTANCE_MAX = 65535
