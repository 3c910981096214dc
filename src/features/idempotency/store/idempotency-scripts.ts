import { createScript } from '../../redis/redis-server.ts'

// A record is a hash: `s` state (`p` in progress, `d` done, `u` unknown), `t` token of the attempt, `f` fingerprint
// (empty: unknown), `i` id and `c` claim time of the first request, `l` end of the lease, `w` an earlier attempt may
// have been processed, `r` sealed response. Times are Redis's clock, in milliseconds.

const clock = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
`

/**
 * Claims a key, or writes nothing. KEYS: record, and the bucket that counts the client's keys. ARGV: token,
 * fingerprint, request id, TTL, lease, `1` to take over an unknown outcome, maximum of keys, `1` if a claim may be
 * written. Returns `c` (claimed), `f` (too many keys), `n` (not writable), or the record's state, request id,
 * fingerprint, token and response. The bucket drains over the TTL, so a client has at most twice the maximum, counted
 * in one small key. An expired lease means an unknown outcome. An empty fingerprint (a streaming body) matches any.
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

/** KEYS: as above. ARGV: token, `f` (free), `d` or `u`, fingerprint, TTL, sealed response. 0: claim no longer held. */
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

/** KEYS: record. ARGV: token, TTL, lease. Returns 1, or 0 if the claim is no longer held. */
export const renewKeyScript = createScript(`${clock}${heldByToken}
redis.call('HSET', KEYS[1], 'l', now + ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[2] + ARGV[3])
return 1
`)

/** KEYS: record. Returns state, id and time of the first request, ms left, token, fingerprint, response; or nothing. */
export const findKeyScript = createScript(`${clock}
local found = redis.call('HMGET', KEYS[1], 's', 'i', 'c', 'l', 't', 'f', 'r')
local state = found[1]
if not state then return {} end
if state == 'p' and tonumber(found[4]) <= now then state = 'u' end
return { state, found[2], found[3], redis.call('PTTL', KEYS[1]), found[5], found[6], found[7] }
`)

/** KEYS: record. Returns 1, 0 without a record, or `p` (not forgotten) while the lease holds. */
export const forgetKeyScript = createScript(`${clock}
local found = redis.call('HMGET', KEYS[1], 's', 'l')
if found[1] == 'p' and tonumber(found[2]) > now then return 'p' end
return redis.call('DEL', KEYS[1])
`)
