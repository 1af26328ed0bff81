-- uses: once fence jobs
-- Makes a job pending.
-- KEYS[4…6]  see jobs.lua
-- ARGV[5]  the job   ARGV[6]  seconds before it may be claimed
-- Returns "1", or "0" where it is pending or running already.
if not queue_job(ARGV[5], tonumber(ARGV[6])) then
  return '0'
end
wake()
return done('1')
