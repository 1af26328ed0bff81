-- Items of a stream, in order or newest first; as many as may be looked at in one go.
-- KEYS[1]  hash  the stream   KEYS[2]  hash  its items by position
-- ARGV[1]  first position   ARGV[2]  the position after the last, or ""   ARGV[3]  how many at most, or ""
-- ARGV[4]  "1" for newest first   ARGV[5]  how many items to look at   ARGV[6]  how many bytes of them
-- ARGV[7…] the kinds that are wanted; none for all
-- Returns -1, or from where to read on: the first position, or the one after the last for newest first; then the items.
local length = tonumber(redis.call('HGET', KEYS[1], 'l') or '0')
local first, stop = math.max(tonumber(ARGV[1]), 0), math.min(tonumber(ARGV[2]) or length, length)
local limit, newest_first = tonumber(ARGV[3]) or length, ARGV[4] == '1'
local scan, bytes = tonumber(ARGV[5]), tonumber(ARGV[6])
local wanted = nil
for at = 7, #ARGV do
  wanted = wanted or {}
  wanted[ARGV[at]] = true
end

local function is_wanted(item)
  if not wanted then
    return true
  end
  local id, kind, at = string.match(item, '^%S+ %S+ %S+ (%d+) (%d+) %d\n()')
  return wanted[string.sub(item, at + id, at + id + kind - 1)]
end

local found = { -1 }
local left = stop - first
while left > 0 and scan > 0 and bytes > 0 and #found <= limit do
  local count = math.min(left, scan, 100)
  if not wanted then
    count = math.min(count, limit + 1 - #found)
  end
  local from = newest_first and first + left - 1 or stop - left
  local positions = {}
  for place = 1, count do
    positions[place] = string.format('%.0f', newest_first and from + 1 - place or from + place - 1)
  end
  local items = redis.call('HMGET', KEYS[2], unpack(positions))
  for place = 1, count do
    local item = items[place]
    left, scan = left - 1, scan - 1
    if item then
      bytes = bytes - #item
      if is_wanted(item) then
        found[#found + 1] = item
      end
    end
    if bytes <= 0 or #found > limit then
      break
    end
  end
end
if #found > limit then
  left = 0
end
if left > 0 then
  found[1] = newest_first and first + left or stop - left
end
return found
