-- The beginning of every script that writes: a call that was sent twice is done once.
-- KEYS[1]  string  the format of the store: nothing is written where it is another, or gone
-- KEYS[2]  string  "<number> <reply>" of this caller's last call, kept for two minutes
-- KEYS[3]  string  counts what may interest a sleeping worker
-- ARGV[1]  the format   ARGV[2]  number of the call, which rises with each call of the caller
-- ARGV[3]  seconds of a clock, or "" for the server's   ARGV[4]  channel on which sleeping workers listen
-- Gives the script: now, fixed(number), done(reply), wake(). Each script returns done(…), or writes nothing.
-- A script's own keys and arguments begin at KEYS[4] and ARGV[5].
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('MBFORMAT the store is gone, or of another format')
end
local last = redis.call('GET', KEYS[2])
if last then
  local number, reply = string.match(last, '^(%d+) (.*)$')
  if number == ARGV[2] then
    return reply
  end
  if tonumber(number) > tonumber(ARGV[2]) then
    return redis.error_reply('MBLATE the caller has gone on')
  end
end

local now = tonumber(ARGV[3])
if not now then
  local time = redis.call('TIME')
  now = time[1] + time[2] / 1000000
end

local function fixed(number)
  return string.format('%.17g', number)
end

local function done(reply)
  redis.call('SET', KEYS[2], ARGV[2] .. ' ' .. reply, 'EX', '120')
  return reply
end

local function wake()
  redis.call('INCR', KEYS[3])
  redis.call('PUBLISH', ARGV[4], '1')
end
