-- The sum of a stream's weights before a position.
-- KEYS[1]  hash  the stream   KEYS[2]  hash  its items by position
-- ARGV[1]  the position before that one
-- Returns the sum as text.
local item = redis.call('HGET', KEYS[2], ARGV[1])
return item and string.match(item, '^%S+ %S+ (%S+)') or redis.call('HGET', KEYS[1], 't') or '0'
