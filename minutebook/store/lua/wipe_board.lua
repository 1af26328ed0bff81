-- uses: once fence jobs
-- flags: allow-oom
-- Forgets all jobs and dirty marks.
-- KEYS[4…6]  see jobs.lua   KEYS[7]  zset  dirty branches
-- Returns "1".
for _, job in ipairs(redis.call('HKEYS', KEYS[4])) do
  redis.call('DEL', ready_key(job))
end
redis.call('DEL', KEYS[4], KEYS[7])
return done('1')
