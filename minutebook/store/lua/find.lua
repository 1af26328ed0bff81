-- Items of some streams, by id.
-- KEYS[1, 3 …]  hash  id -> position   KEYS[2, 4 …]  hash  position -> item: two keys for each stream
-- ARGV  the ids
-- Returns a list of items for each stream.
local function batches(hash, names)
  local values = {}
  for from = 1, #names, 1000 do
    local some = redis.call('HMGET', hash, unpack(names, from, math.min(from + 999, #names)))
    for place = 1, math.min(1000, #names - from + 1) do
      if some[place] then
        values[#values + 1] = some[place]
      end
    end
  end
  return values
end

local found = {}
for at = 1, #KEYS, 2 do
  local items = {}
  if redis.call('EXISTS', KEYS[at]) == 1 then
    items = batches(KEYS[at + 1], batches(KEYS[at], ARGV))
  end
  found[#found + 1] = items
end
return found
