-- uses: once fence jobs
-- Takes a job that is ready.
-- KEYS[4…6]  see jobs.lua
-- ARGV[5]  the job   ARGV[6]  owner   ARGV[7]  lease in seconds   ARGV[8]  deadline in seconds
-- Returns "<token> <tries> <deadline>", or "" where there is nothing to take.
local held = read_job(ARGV[5])
if not held or not held.is_ready then
  return ''
end
held.state, held.owner, held.tries, held.token = 'r', ARGV[6], held.tries + 1, fence(KEYS[6])
held.deadline_at, held.written_at = now + tonumber(ARGV[8]), now
held.lease_ends = math.min(now + tonumber(ARGV[7]), held.deadline_at)
write_job(ARGV[5], held)
return done(fixed(held.token) .. ' ' .. fixed(held.tries) .. ' ' .. fixed(held.deadline_at))
