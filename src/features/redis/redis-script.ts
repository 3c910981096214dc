import { hash } from 'node:crypto'

/** A Lua script, which Redis runs in one step. */
export interface RedisScript {
  readonly text: string
  /** The name by which Redis knows the script once it has loaded it. */
  readonly sha: string
}

/** The arguments that a script is run with. In a cluster all keys must be of one slot: they share a `{tag}`. */
export interface ScriptArgs {
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
}

export interface ScriptOptions {
  /** Whether as many replicas as the settings say must have what it wrote. Otherwise it is rejected. */
  readonly isReplicated?: boolean
}

export const createScript = (text: string): RedisScript => ({
  text,
  sha: hash('sha1', text, 'hex'),
})

/** Removes entries. KEYS: theirs. Returns how many there were. */
export const removeScript = createScript(`return redis.call('DEL', unpack(KEYS))`)

/**
 * Does in Redis what `consumeToken` in rate-limiter/token-bucket.ts does in memory: the same steps on the same kind of
 * numbers, which are stored and returned with all their digits. The clock is Redis's own, so that gateways need not
 * agree on one. KEYS: the bucket. ARGV: how many tokens a millisecond, and how many at once. Redis itself expires a
 * bucket that has drained.
 */
export const consumeScript = createScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local used = 0
local was, at = string.match(redis.call('GET', KEYS[1]) or '', '^(%S+) (%S+)$')
if was then used = math.max(0, was - math.max(0, now - at) * rate) end
if used + 1 > burst then return string.format('%.17g', -used) end
used = used + 1
local kept = string.format('%.17g %.17g', used, now)
redis.call('SET', KEYS[1], kept, 'PX', string.format('%.0f', math.ceil(used / rate)))
return string.format('%.17g', used)
`)
