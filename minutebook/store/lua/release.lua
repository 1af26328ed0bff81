-- uses: once fence jobs
-- flags: allow-oom
-- Ends the lease of an owner that is dead.
-- KEYS[4…6]  see jobs.lua
-- ARGV[5]  the job   ARGV[6]  owner
-- Returns "1", or "0" where that owner has no lease on it.
local held = read_job(ARGV[5])
if not held or held.state ~= 'r' or held.owner ~= ARGV[6] or held.lease_ends <= now then
  return '0'
end
held.lease_ends, held.written_at = now, now
write_job(ARGV[5], held)
wake()
return done('1')
