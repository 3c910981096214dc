import { createScript } from '../../redis/redis-server.ts'

// A record is a hash: `s` its state (`p` in progress, `d` done, `u` unknown), `t` the token of the attempt, `f` the
// fingerprint (empty: not known), `i` the id of the first request, `c` when that was claimed, `l` until when an attempt
// in progress holds without a renewal, `w` where an attempt before it may have been processed, `r` the sealed response.
// All times are of Redis's own clock, in milliseconds.

const clock = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/**
 * Claims a key. KEYS: the record, and the bucket that counts the keys of its client. ARGV: token, fingerprint, request
 * id, how long a record is kept, how long an attempt holds, `1` if it may be made again, the maximum of keys, `1` if a
 * claim may be written. Returns `c` (claimed), `f` (the client has too many keys), `n` (it may not be written), or
 * state, request id, fingerprint, token and response of what came before. Nothing is written but a claim. The bucket
 * drains while records are kept, so that a client has at most twice as many keys as the maximum, and counting them
 * takes one small key. An attempt that was not renewed in time has an unknown outcome. An empty fingerprint, of a body
 * that streams, stands for the one before.
 */
export const claimKeyScript = createScript(`${clock}
local token, fingerprint, id = ARGV[1], ARGV[2], ARGV[3]
local kept, lease, max = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[7])
local found = redis.call('HMGET', KEYS[1], 's', 'i', 'f', 't', 'r', 'l', 'c')
local state, since = found[1], now
if state then
  if state == 'p' and tonumber(found[6]) <= now then state = 'u' end
  if fingerprint == '' then fingerprint = found[3] end
  if state ~= 'u' or ARGV[6] ~= '1' or found[3] ~= fingerprint then
    return { state, found[2], found[3], found[4], found[5] }
  end
  if ARGV[8] ~= '1' then return { 'n' } end
  id, since = found[2], found[7]
  redis.call('HSET', KEYS[1], 'w', '1')
else
  local used = 0
  local was, at = string.match(redis.call('GET', KEYS[2]) or '', '^(%S+) (%S+)$')
  if was then used = math.max(0, was - math.max(0, now - at) * max / kept) end
  if used + 1 > max then return { 'f' } end
  if ARGV[8] ~= '1' then return { 'n' } end
  local bucket = string.format('%.17g %.17g', used + 1, now)
  redis.call('SET', KEYS[2], bucket, 'PX', string.format('%.0f', math.ceil((used + 1) * kept / max)))
end
redis.call('HSET', KEYS[1], 's', 'p', 't', token, 'f', fingerprint, 'i', id, 'c', since, 'l', now + lease)
redis.call('PEXPIRE', KEYS[1], kept + lease)
return { 'c' }
`)

const heldByToken = `
local held = redis.call('HMGET', KEYS[1], 's', 't', 'l')
if held[1] ~= 'p' or held[2] ~= ARGV[1] or tonumber(held[3]) <= now then return 0 end
`

/**
 * Settles an attempt, if it is still the caller's. KEYS: as for {@link claimKeyScript}. ARGV: token, `f` (free), `d` or
 * `u`, fingerprint, how long the record is kept, the sealed response (empty: none). Returns 1 if it is settled.
 */
export const settleKeyScript = createScript(`${clock}${heldByToken}
local state = ARGV[2]
if state == 'f' and redis.call('HMGET', KEYS[1], 'w')[1] then state = 'u' end
if state == 'f' then
  redis.call('DEL', KEYS[1])
  local used, at = string.match(redis.call('GET', KEYS[2]) or '', '^(%S+) (%S+)$')
  if used then redis.call('SET', KEYS[2], string.format('%.17g %s', math.max(0, used - 1), at), 'KEEPTTL') end
  return 1
end
redis.call('HSET', KEYS[1], 's', state)
if ARGV[2] ~= 'f' then redis.call('HSET', KEYS[1], 'f', ARGV[3]) end
if ARGV[5] ~= '' then redis.call('HSET', KEYS[1], 'r', ARGV[5]) end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
`)

/**
 * Renews an attempt, if it is still the caller's. KEYS: the record. ARGV: token, how long the record is kept, how long
 * the attempt holds. Returns 1 if it does.
 */
export const renewKeyScript = createScript(`${clock}${heldByToken}
redis.call('HSET', KEYS[1], 'l', now + ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2] + ARGV[3])
return 1
`)

/**
 * Finds a record. KEYS: the record. Returns state, id and time of the first request, how many milliseconds it is still
 * kept, token, fingerprint and response; nothing where there is no record.
 */
export const findKeyScript = createScript(`${clock}
local found = redis.call('HMGET', KEYS[1], 's', 'i', 'c', 'l', 't', 'f', 'r')
local state = found[1]
if not state then return {} end
if state == 'p' and tonumber(found[4]) <= now then state = 'u' end
return { state, found[2], found[3], redis.call('PTTL', KEYS[1]), found[5], found[6], found[7] }
`)

/**
 * Forgets a record, unless its attempt is under way. KEYS: the record. Returns 1 if it is forgotten, 0 where there is
 * none, `p` for an attempt that holds.
 */
export const forgetKeyScript = createScript(`${clock}
local found = redis.call('HMGET', KEYS[1], 's', 'l')
if found[1] == 'p' and tonumber(found[2]) > now then return 'p' end
return redis.call('DEL', KEYS[1])
`)
