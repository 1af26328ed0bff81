-- uses: once fence dirty
-- Marks a branch dirty.
-- KEYS[4]  zset  dirty branches   KEYS[5]  string  fence
-- ARGV[5]  the branch
-- Returns "1".
mark_dirty(KEYS[4], KEYS[5], ARGV[5])
return done('1')
