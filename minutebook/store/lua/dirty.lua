-- Marks a branch dirty, at a new revision. Needs once.lua and fence.lua.
-- dirty_key  zset  branch by revision   fence_key  string
local function mark_dirty(dirty_key, fence_key, branch)
  redis.call('ZADD', dirty_key, fixed(fence(fence_key)), branch)
  wake()
end
