-- uses: once fence jobs
-- flags: allow-oom
-- Where times of jobs were set by a clock that has gone back since, counts them from now on.
-- KEYS[4…6]  see jobs.lua
-- Returns "1" where there were such, else "0".
local changed = false
for _, job in ipairs(redis.call('HKEYS', KEYS[4])) do
  local held = read_job(job)
  local ahead = held.written_at - now
  if ahead > 0 then
    held.not_before, held.lease_ends = held.not_before - ahead, held.lease_ends - ahead
    held.deadline_at, held.failed_at = held.deadline_at - ahead, math.min(held.failed_at, now)
    held.written_at = now
    write_job(job, held)
    changed = true
  end
end
if not changed then
  return '0'
end
wake()
return done('1')
