-- uses: once documents
-- Writes one document.
-- KEYS[4]  hash  changes of the collections   KEYS[5]  hash  the collection
-- ARGV[5]  collection   ARGV[6]  key   ARGV[7]  the version that is expected, or ""   ARGV[8]  packed body
-- Returns "S<found>" where another version was found, else "P<new version>".
local found = version_of(KEYS[5], ARGV[6])
if ARGV[7] ~= '' and tonumber(ARGV[7]) ~= found then
  return 'S' .. fixed(found)
end
return done('P' .. fixed(put_document(KEYS[5], KEYS[4], ARGV[5], ARGV[6], ARGV[8])))
