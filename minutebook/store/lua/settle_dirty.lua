-- uses: once fence jobs
-- flags: allow-oom
-- Makes jobs pending and clears dirty marks.
-- KEYS[4…6]  see jobs.lua   KEYS[7]  zset  dirty branches
-- ARGV[5]  how many jobs   ARGV[6…]  the jobs, then branches, each with the revision at which it was taken
-- Returns how many marks were cleared; one that was made again since stays.
local queued, cleared, jobs = false, 0, tonumber(ARGV[5])
for at = 6, 5 + jobs do
  queued = queue_job(ARGV[at], 0) or queued
end
for at = 6 + jobs, #ARGV, 2 do
  if tonumber(redis.call('ZSCORE', KEYS[7], ARGV[at]) or '-1') == tonumber(ARGV[at + 1]) then
    cleared = cleared + redis.call('ZREM', KEYS[7], ARGV[at])
  end
end
if queued then
  wake()
end
return done(fixed(cleared))
