-- uses: once fence jobs documents
-- flags: allow-oom
-- Removes streams, documents, and the jobs and dirty marks of branches.
-- KEYS[4…6]  see jobs.lua   KEYS[7]  zset  dirty branches   KEYS[8]  hash  changes of the collections
-- KEYS[9…]  all the keys of the streams, then the collection of each document (hash)
-- ARGV[5…7]  how many of each: keys of streams, documents, branches   ARGV[8…]  documents (collection, key); branches
-- Returns "1".
local streams, documents, branches = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
for place = 1, streams do
  redis.call('UNLINK', KEYS[8 + place])
end
for place = 1, documents do
  local at = 6 + 2 * place
  delete_document(KEYS[8 + streams + place], KEYS[8], ARGV[at], ARGV[at + 1])
end
local gone = {}
for place = 1, branches do
  local branch = ARGV[7 + 2 * documents + place]
  gone[branch] = true
  redis.call('ZREM', KEYS[7], branch)
end
if branches > 0 then
  for _, job in ipairs(redis.call('HKEYS', KEYS[4])) do
    local _, branch = role_and_branch(job)
    if gone[branch] then
      remove_job(job, read_job(job))
    end
  end
end
return done('1')
