-- Adds items to a stream, sets marks, writes documents and marks a branch dirty; or writes nothing.
-- Needs once.lua, fence.lua, dirty.lua and documents.lua. For append.lua and shrink.lua.
-- KEYS[4]  hash    the stream: "l" -> length, "t" -> total of the weights, "m<name>" -> a mark
-- KEYS[5]  hash    position -> "<position> <weight> <total> <packed item>"
-- KEYS[6]  hash    id -> position
-- KEYS[7]  zset    dirty branches   KEYS[8]  string  fence   KEYS[9]  hash  changes of the collections
-- KEYS[10…] hash   the collection of each document
-- ARGV[5]  the length that is expected, or ""   ARGV[6]  "1" to mark ARGV[7] dirty
-- ARGV[8…11]  how many of each follow: expected marks (name, value), marks to set (name, value),
--          documents (collection, key, version or "", packed body), items (id, weight, packed item)
-- ARGV[12]  "1" to begin the stream anew
-- Returns "S<m|l|d> <place from 1> <found>" of the first mark, length or document that is not as expected; or
--          "A<length before> <length> <total> <number of marks> <positions of the items>\n", then the marks, each as
--          "<value> <length of the name>\n<name>".
local function append()
  local expected, advanced, puts, items = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
  local FIRST_PUT = 13 + 2 * expected + 2 * advanced
  local FIRST_ITEM = FIRST_PUT + 4 * puts

  local length, total, marks, names = 0, 0, {}, {}
  local fields = redis.call('HGETALL', KEYS[4])
  for at = 1, #fields, 2 do
    local name, value = fields[at], fields[at + 1]
    if name == 'l' then
      length = tonumber(value)
    elseif name == 't' then
      total = tonumber(value)
    else
      name = string.sub(name, 2)
      names[#names + 1] = name
      marks[name] = value
    end
  end

  for place = 1, expected do
    local at = 11 + 2 * place
    local found = marks[ARGV[at]] or '0'
    if found ~= ARGV[at + 1] then
      return 'Sm ' .. place .. ' ' .. found
    end
  end
  if ARGV[5] ~= '' and tonumber(ARGV[5]) ~= length then
    return 'Sl 1 ' .. fixed(length)
  end
  for place = 1, puts do
    local at = FIRST_PUT + 4 * place - 4
    if ARGV[at + 2] ~= '' then
      local found = version_of(KEYS[9 + place], ARGV[at + 1])
      if found ~= tonumber(ARGV[at + 2]) then
        return 'Sd ' .. place .. ' ' .. fixed(found)
      end
    end
  end

  if ARGV[12] == '1' then
    redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[6])
    length, total, marks, names = 0, 0, {}, {}
  end
  local before, reply = length, {}
  for place = 1, items do
    local at = FIRST_ITEM + 3 * place - 3
    local id = ARGV[at]
    local position = redis.call('HGET', KEYS[6], id)
    if not position then
      position = fixed(length)
      total = total + tonumber(ARGV[at + 1])
      redis.call('HSET', KEYS[5], position, position .. ' ' .. ARGV[at + 1] .. ' ' .. fixed(total) .. ' ' .. ARGV[at + 2])
      redis.call('HSET', KEYS[6], id, position)
      length = length + 1
    end
    reply[place] = position
  end
  if length > before then
    redis.call('HSET', KEYS[4], 'l', fixed(length), 't', fixed(total))
  end
  for place = 1, advanced do
    local at = 11 + 2 * expected + 2 * place
    local name = ARGV[at]
    if not marks[name] then
      names[#names + 1] = name
    end
    marks[name] = ARGV[at + 1]
    redis.call('HSET', KEYS[4], 'm' .. name, ARGV[at + 1])
  end
  for place = 1, puts do
    local at = FIRST_PUT + 4 * place - 4
    put_document(KEYS[9 + place], KEYS[9], ARGV[at], ARGV[at + 1], ARGV[at + 3])
  end
  if ARGV[6] == '1' then
    mark_dirty(KEYS[7], KEYS[8], ARGV[7])
  end

  local told = {}
  for place, name in ipairs(names) do
    told[place] = marks[name] .. ' ' .. #name .. '\n' .. name
  end
  local head = { 'A' .. fixed(before), fixed(length), fixed(total), #names, table.concat(reply, ' ') }
  return done(table.concat(head, ' ') .. '\n' .. table.concat(told))
end
