-- The board: jobs as rows. Needs once.lua and fence.lua.
-- KEYS[4]  hash    job -> row. A job is "<length of role> <length of lineage>\n<role><lineage><branch>", a row
--                  "<p|r> <not before> <lease ends> <deadline> <token> <tries> <failed at> <written at> <place in the
--                  queue> <length of owner>\n<owner><error>"; p: pending, r: running
-- KEYS[5]  prefix  of zsets, one a role: "<place in the queue><job>" by the time at which it can be claimed
-- KEYS[6]  string  fence
local NUMBERS = { 'not_before', 'lease_ends', 'deadline_at', 'token', 'tries', 'failed_at', 'written_at', 'place' }
local PATTERN = '^(%a)' .. string.rep(' (%S+)', #NUMBERS) .. ' (%d+)\n()'

local function role_and_branch(job)
  local role, lineage, at = string.match(job, '^(%d+) (%d+)\n()')
  return string.sub(job, at, at + role - 1), string.sub(job, at + role + lineage)
end

local function read_job(job)
  local row = redis.call('HGET', KEYS[4], job)
  if not row then
    return nil
  end
  local found = { string.match(row, PATTERN) }
  local held = { state = found[1] }
  for place, name in ipairs(NUMBERS) do
    held[name] = tonumber(found[place + 1])
  end
  local length, at = tonumber(found[#NUMBERS + 2]), found[#NUMBERS + 3]
  held.owner, held.error = string.sub(row, at, at + length - 1), string.sub(row, at + length)
  held.ready_at = held.state == 'p' and held.not_before or held.lease_ends
  held.is_ready = held.ready_at <= now
  return held
end

local function ready_key(job)
  return KEYS[5] .. role_and_branch(job)
end

local function member(job, held)
  return string.format('%016.0f', held.place) .. job
end

local function write_job(job, held)
  local values = { held.state }
  for place, name in ipairs(NUMBERS) do
    values[place + 1] = fixed(held[name])
  end
  values[#values + 1] = #held.owner
  redis.call('HSET', KEYS[4], job, table.concat(values, ' ') .. '\n' .. held.owner .. held.error)
  local ready_at = held.state == 'p' and held.not_before or held.lease_ends
  redis.call('ZADD', ready_key(job), fixed(ready_at), member(job, held))
end

local function remove_job(job, held)
  redis.call('HDEL', KEYS[4], job)
  redis.call('ZREM', ready_key(job), member(job, held))
end

local function queue_job(job, delay_seconds)
  if redis.call('HEXISTS', KEYS[4], job) == 1 then
    return false
  end
  write_job(job, {
    state = 'p', not_before = now + delay_seconds, lease_ends = 0, deadline_at = 0, token = 0, tries = 0,
    failed_at = 0, written_at = now, place = fence(KEYS[6]), owner = '', error = '',
  })
  return true
end
