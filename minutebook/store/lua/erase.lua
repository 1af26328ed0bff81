-- uses: once fence jobs documents
-- flags: allow-oom
-- Removes streams, documents, and the jobs and dirty marks of branches, and writes documents in their place.
-- KEYS[4…6]  see jobs.lua   KEYS[7]  zset  dirty branches   KEYS[8]  hash  changes of the collections
-- KEYS[9…]  all the keys of the streams, then the collection (hash) of each document, to remove and to write
-- ARGV[5…8]  how many of each: keys of streams, documents, branches, documents to write
-- ARGV[9…]   documents (collection, key), branches, documents to write (collection, key, packed body)
-- Returns "1".
local streams, documents, branches, puts = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local FIRST_BRANCH = 9 + 2 * documents
local FIRST_PUT = FIRST_BRANCH + branches
for place = 1, streams do
  redis.call('UNLINK', KEYS[8 + place])
end
for place = 1, documents do
  local at = 7 + 2 * place
  delete_document(KEYS[8 + streams + place], KEYS[8], ARGV[at], ARGV[at + 1])
end
local gone = {}
for place = 1, branches do
  local branch = ARGV[FIRST_BRANCH + place - 1]
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
for place = 1, puts do
  local at = FIRST_PUT + 3 * place - 3
  put_document(KEYS[8 + streams + documents + place], KEYS[8], ARGV[at], ARGV[at + 1], ARGV[at + 2])
end
return done('1')
