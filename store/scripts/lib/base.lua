-- Numbers, and keys that do not hold what they should.

-- Numbers in text need this: Lua's own conversion rounds to 14 digits.
local function digits(n)
  return string.format('%d', n)
end

-- Rubbish collection of a value that counts for `span` µs: twice that, a minute at least.
local function rubbish_after(span)
  return math.max(RUBBISH_MIN, math.ceil(span / 500))
end

local quarantined = {}

-- Puts a key aside whose contents cannot be read, for a day, so that people can look at it.
local function quarantine(key)
  if redis.call('EXISTS', key) == 1 then
    local aside = key .. ':quarantine'
    redis.call('RENAME', key, aside)
    redis.call('PEXPIRE', aside, 86400000)
    quarantined[#quarantined + 1] = key
  end
end

-- A reading command; a key of a wrong type is put aside and reads as absent.
local function read(command, key, ...)
  local found = redis.pcall(command, key, ...)
  if type(found) == 'table' and found.err then
    if string.sub(found.err, 1, 9) ~= 'WRONGTYPE' then error(found) end
    quarantine(key)
    return nil
  end
  return found
end

-- A writing command; a key of a wrong type is put aside first.
local function write(command, key, ...)
  local done = redis.pcall(command, key, ...)
  if type(done) ~= 'table' or not done.err then return done end
  if string.sub(done.err, 1, 9) ~= 'WRONGTYPE' then error(done) end
  quarantine(key)
  return redis.call(command, key, ...)
end

-- Reads a text and takes it apart; one that does not fit the pattern is put aside.
local function read_fields(key, pattern)
  local text = read('GET', key)
  if not text then return nil end
  local fields = { string.match(text, pattern) }
  local readable = #fields > 0
  for _, field in ipairs(fields) do readable = readable and #field <= 20 end
  if not readable then
    quarantine(key)
    return nil
  end
  return fields
end

-- Every reply: how many keys were put aside, the answer, the keys put aside.
local function answer(...)
  local reply = { #quarantined, ... }
  for _, key in ipairs(quarantined) do reply[#reply + 1] = key end
  return reply
end

-- Uniform choice below n from one 32-bit word, as the core has it.
local function pick(word, n)
  return math.floor(word * n / 4294967296)
end
