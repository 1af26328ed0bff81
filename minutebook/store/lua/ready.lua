-- Jobs that could be claimed now.
-- KEYS[1]  hash  the board   KEYS[2…]  zset  for each role, its jobs by the time at which they can be claimed
-- ARGV[1]  seconds of a clock, or "" for the server's   ARGV[2]  how many of a role at most
-- Returns for each job: its time, its place in the queue with the job, its row.
local now = ARGV[1]
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.17g', time[1] + time[2] / 1000000)
end
local found = {}
for at = 2, #KEYS do
  local members = redis.call('ZRANGEBYSCORE', KEYS[at], '-inf', now, 'WITHSCORES', 'LIMIT', '0', ARGV[2])
  for place = 1, #members, 2 do
    found[#found + 1] = members[place + 1]
    found[#found + 1] = members[place]
    found[#found + 1] = redis.call('HGET', KEYS[1], string.sub(members[place], 17))
  end
end
return found
