-- The directory beside its nodes, on one server.

-- Moves a listed node to the class of what it now has. Its pairs are those it has just left, so
-- there is room.
function relist(n, caps)
  if n.class < 0 then return end
  leave_index(n)
  n.caps = caps
  n.class = list(n.num, n.caps)
end

function node_gone(n)
  unlist(n.num)
end
