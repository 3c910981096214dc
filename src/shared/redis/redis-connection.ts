import { createHash } from 'node:crypto'

/** Is one connection to Redis. */
export interface RedisConnection {
  /** Takes one of a bucket; resolves with the outcome. Rejects when Redis says no, or the connection ends. */
  consume(key: string, perMs: number, burst: number): Promise<number>
  /** Runs a script; resolves with what it returns, texts as bytes. Rejects as `take` does. */
  run(script: RedisScript, invocation: ScriptArgs): Promise<unknown>
  /** Ends it at once. */
  destroy(): void
}

/** Connects. `lost` is told once of a connection that was made and has ended. Rejects when none can be made within a short time. */
export type ConnectRedis = (onLost: (reason: unknown) => void) => Promise<RedisConnection>

/** Is what Redis does by itself, in one step. */
export interface RedisScript {
  readonly text: string
  /** Is the name by which Redis knows it once it has seen it. */
  readonly sha: string
}

/** Is what a script is run with. */
export interface ScriptArgs {
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
}

/** Makes a script of its text, which is Lua. */
export const createScript = (text: string): RedisScript => ({
  text,
  sha: createHash('sha1').update(text).digest('hex'),
})

/**
 * Does in Redis what `consumeToken` in limiter/bucket.ts does in memory: the same steps on the same kind of numbers, which are kept and answered
 * with all their digits. The clock is Redis's own, so that gateways need not agree on one. KEYS: the bucket. ARGV: how many a
 * millisecond, and how many at once. What has drained is forgotten by Redis itself.
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

// Of one that is near enough to be asked for every request, this is plenty; and whoever comes back is tried again soon.
const connectTimeoutMs = 500

// No burst is larger, so nobody has used more.
const maxUsed = 1_000_000

/**
 * Connects to Redis or Valkey by a URL such as `rediss://:password@host:6379/0`. The library is only loaded here: where no Redis is
 * configured, it costs nothing. It never connects again by itself and keeps nothing for later: that is decided in one place (link.ts).
 */
export const connectRedis =
  (url: string): ConnectRedis =>
  async (onLost) => {
    const { createClient, RESP_TYPES } = await import('@redis/client')
    const client = createClient({
      url,
      socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: false },
      disableOfflineQueue: true,
      disableClientInfo: true,
      // What else they can do is of no use here, and not every server knows it.
      RESP: 2,
      maintNotifications: 'disabled',
    })
    let isMade = false
    client.on('error', (error) => {
      if (isMade) onLost(error)
    })
    client.on('end', () => {
      if (isMade) onLost(new Error('the connection ended'))
    })
    const timeout = setTimeout(() => client.destroy(), connectTimeoutMs) // a server that accepts and says nothing
    try {
      await client.connect()
      await client.scriptLoad(consumeScript.text)
    } catch (error) {
      if (client.isOpen) client.destroy()
      throw error
    } finally {
      clearTimeout(timeout)
    }
    isMade = true
    if (!client.isReady) throw new Error('the connection ended')
    const asBytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
    const run = ({ text, sha }: RedisScript, { keys, args }: ScriptArgs): Promise<unknown> => {
      const invocation = { keys: [...keys], arguments: [...args] }
      // A server that was restarted behind a proxy, or was told to forget its scripts.
      return asBytes
        .evalSha(sha, invocation)
        .catch((error) => (isUnknownScript(error) ? asBytes.eval(text, invocation) : Promise.reject(error)))
    }
    return {
      run,
      async consume(key, perMs, burst) {
        const reply = await run(consumeScript, { keys: [key], args: [String(perMs), String(burst)] })
        const outcome = reply instanceof Buffer ? Number(reply.toString('latin1')) : Number.NaN
        const used = Math.abs(outcome)
        if (!(used > 0 && used <= maxUsed)) throw new Error('not an outcome')
        return outcome
      },
      destroy() {
        isMade = false
        if (client.isOpen) client.destroy()
      },
    }
  }

const isUnknownScript = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOSCRIPT')
