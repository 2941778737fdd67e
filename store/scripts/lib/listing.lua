-- The directory beside its nodes, on one server.

-- Moves a listed node to the class of its new models. Its pairs are those it has just left, so
-- there is room.
function relist(n, models)
  if n.class < 0 then return end
  leave_index(n)
  n.caps = with_models(n.caps, models)
  n.class = list(n.num, n.caps)
end

function node_gone(n)
  unlist(n.num)
end
