-- A node lacks a model that it had listed. Home: the node.
--
-- KEYS[1]  record of the node
-- KEYS[2]  leases of the node
-- ARGV[1]  now, µs
-- ARGV[2]  number of the node
-- ARGV[3]  generation
-- ARGV[4]  model
--
-- Reply: 0: taken; 1: the generation is not current; 2, capabilities: taken, and to be listed anew

local n = load_node(tonumber(ARGV[2]), KEYS[1], KEYS[2])
if not is_current(n, tonumber(ARGV[3])) then return answer(1) end
count_loss(n, tonumber(ARGV[4]))
if n.class >= 0 then
  local left = ''
  for model in string.gmatch(models_of(n.caps), '%d+') do
    if model ~= ARGV[4] then left = left .. '|' .. model end
  end
  relist(n, with_changes(n.caps, left .. '|', '-', '-'))
end
save_node(n)
room_changed(n)
if wanted_caps then return answer(2, wanted_caps) end
return answer(0)
