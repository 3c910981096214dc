import { createHash } from 'node:crypto'

/** Is one connection to Redis. */
export interface Connection {
  /** Takes one of a bucket; resolves with the outcome. Rejects when Redis says no, or the connection ends. */
  take(key: string, perMs: number, burst: number): Promise<number>
  /** Runs a script; resolves with what it returns, texts as bytes. Rejects as `take` does. */
  run(script: Script, given: Given): Promise<unknown>
  /** Ends it at once. */
  destroy(): void
}

/** Connects. `lost` is told once of a connection that was made and has ended. Rejects when none can be made within a short time. */
export type Connect = (lost: (reason: unknown) => void) => Promise<Connection>

/** Is what Redis does by itself, in one step. */
export interface Script {
  readonly text: string
  /** Is the name by which Redis knows it once it has seen it. */
  readonly sha: string
}

/** Is what a script is run with. */
export interface Given {
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
}

/** Makes a script of its text, which is Lua. */
export const scriptOf = (text: string): Script => ({ text, sha: createHash('sha1').update(text).digest('hex') })

/**
 * Does in Redis what `takeOf` in limiter/bucket.ts does in memory: the same steps on the same kind of numbers, which are kept and answered
 * with all their digits. The clock is Redis's own, so that gateways need not agree on one. KEYS: the bucket. ARGV: how many a
 * millisecond, and how many at once. What has drained is forgotten by Redis itself.
 */
export const takeScript = scriptOf(`
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
