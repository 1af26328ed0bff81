-- uses: once fence jobs
-- flags: allow-oom
-- Extends, finishes or fails a claim that still holds.
-- KEYS[4…6]  see jobs.lua
-- ARGV[5]  the job   ARGV[6]  token   ARGV[7]  "beat", "finish" or "fail"   ARGV[8]  lease or pause in seconds
-- ARGV[9]  the error
-- Returns "1", or "0" where the claim is no longer the caller's.
local job, held = ARGV[5], read_job(ARGV[5])
if not held or held.state ~= 'r' or held.token ~= tonumber(ARGV[6]) or held.lease_ends <= now then
  return '0'
end
if ARGV[7] == 'finish' then
  remove_job(job, held)
  return done('1')
end
if ARGV[7] == 'beat' then
  -- Where the clock went back since, the deadline goes back as far.
  held.deadline_at = held.deadline_at - math.max(0, held.written_at - now)
  held.lease_ends = math.min(now + tonumber(ARGV[8]), held.deadline_at)
else
  held.state, held.not_before, held.error, held.failed_at = 'p', now + tonumber(ARGV[8]), ARGV[9], now
  held.owner, held.lease_ends, held.deadline_at = '', 0, 0
  wake()
end
held.written_at = now
write_job(job, held)
return done('1')
