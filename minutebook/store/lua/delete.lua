-- uses: once documents
-- flags: allow-oom
-- Deletes one document.
-- KEYS[4]  hash  changes of the collections   KEYS[5]  hash  the collection
-- ARGV[5]  collection   ARGV[6]  key   ARGV[7]  the version that is expected, or ""
-- Returns "1" if it was there, with that version, else "0".
if delete_document(KEYS[5], KEYS[4], ARGV[5], ARGV[6], tonumber(ARGV[7])) then
  return done('1')
end
return '0'
