-- Numbers that are never given twice: revisions of dirty marks, fencing tokens, places in the queue.
-- They are microseconds of the clock where that is ahead, so that they go on above all others even where a replica
-- takes over that lacks the last of them. Needs once.lua.
-- fence_key  string  the last number
local function fence(fence_key)
  local number = math.max(tonumber(redis.call('GET', fence_key) or '0') + 1, math.floor(now * 1000000))
  redis.call('SET', fence_key, fixed(number))
  return number
end
