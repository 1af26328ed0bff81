-- Reads the versions of documents, writes and deletes them.
-- documents_key  hash  key -> "<version> <packed body>", of one collection
-- changes_key    hash  "c<collection>" -> how often it was written; "f<collection>" -> the highest deleted version
local function version_of(documents_key, key)
  local held = redis.call('HGET', documents_key, key)
  return held and tonumber(string.match(held, '^%d+')) or 0
end

local function put_document(documents_key, changes_key, collection, key, packed)
  local version = version_of(documents_key, key)
  if version == 0 then
    version = tonumber(redis.call('HGET', changes_key, 'f' .. collection) or '0')
  end
  version = version + 1
  redis.call('HSET', documents_key, key, string.format('%.0f ', version) .. packed)
  redis.call('HINCRBY', changes_key, 'c' .. collection, '1')
  return version
end

local function delete_document(documents_key, changes_key, collection, key, wanted)
  local version = version_of(documents_key, key)
  if version == 0 or (wanted and version ~= wanted) then
    return false
  end
  redis.call('HDEL', documents_key, key)
  redis.call('HINCRBY', changes_key, 'c' .. collection, '1')
  if version > tonumber(redis.call('HGET', changes_key, 'f' .. collection) or '0') then
    redis.call('HSET', changes_key, 'f' .. collection, string.format('%.0f', version))
  end
  return true
end
