import { createHash } from 'node:crypto'

/** One connection to Redis. */
export interface RedisConnection {
  /** Consumes one token of a bucket. Rejects when Redis replies with an error, or the connection ends. */
  consume(key: string, perMs: number, burst: number): Promise<number>
  /** Runs a script. Resolves with what it returns, texts as bytes. Rejects as {@link consume} does. */
  run(script: RedisScript, invocation: ScriptArgs): Promise<unknown>
  /** Closes it at once. */
  destroy(): void
}

/**
 * Connects. `onLost` is called once when a connection that was made has ended. Rejects when none can be made within a
 * short time.
 */
export type ConnectRedis = (onLost: (reason: unknown) => void) => Promise<RedisConnection>

/** A Lua script, which Redis runs in one step. */
export interface RedisScript {
  readonly text: string
  /** The name by which Redis knows the script once it has loaded it. */
  readonly sha: string
}

/** The arguments that a script is run with. */
export interface ScriptArgs {
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
}

/** Creates a script from its Lua text. */
export const createScript = (text: string): RedisScript => ({
  text,
  sha: createHash('sha1').update(text).digest('hex'),
})

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

// For a Redis that is near enough to be asked for every request, this is plenty; and one that comes back is tried again
// soon.
const connectTimeoutMs = 500

// No burst is larger, so no bucket has more used.
const maxUsed = 1_000_000

/**
 * Connects to Redis or Valkey by a URL such as `rediss://:password@host:6379/0`. The library is only loaded here: a
 * gateway without Redis does without it. It never reconnects by itself and queues nothing: that is decided in one place
 * (managed-redis.ts).
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
    const timeout = setTimeout(() => client.destroy(), connectTimeoutMs) // a server that accepts and is silent
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
      // The server was restarted behind a proxy, or was told to forget its scripts.
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
