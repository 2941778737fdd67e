-- A Cluster: a node's step touches its own slot alone. The caller tells the other homes.

-- Expired leases are looked for where a step meets their node.
function expiry_moved() end

-- The free index is told by Hint.
function room_changed() end

-- The session's intent is told by End.
function lease_ended() end

-- The directory lies in another slot: the caller is asked to list the node and to tell it.
function relist(n, caps)
  if n.class >= 0 then wanted_caps = caps end
end

-- The caller unlists it.
function node_gone() end
