import { hash } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { CoalescedTimer } from '../../core/lib/clock.ts'
import { weakMemo } from '../../core/lib/memo.ts'
import { trustAnchors, verifiedTls } from '../../core/lib/net/tls.ts'
import type { RedisServerOptions, RedisTls } from './redis-settings.ts'

type Command = readonly string[]

/** A Sentinel or cluster node, which knows the addresses of others. */
export type DirectoryServer = Awaited<ReturnType<typeof connectDirectory>>

/** Rejects when a command has no reply within the connect timeout. */
export const connectDirectory = async (options: RedisServerOptions, commands: readonly Command[]) => {
  const { client, replies } = await openClient(options, commands)
  return {
    replies,
    ask: (more: readonly Command[]): Promise<readonly unknown[]> =>
      Promise.all(more.map((command) => client.sendCommand([...command]))),
    destroy: (): void => {
      if (client.isOpen) client.destroy()
    },
  }
}

export type RedisServer = Awaited<ReturnType<typeof connectServer>>

/** Never reconnects and never queues (managed-redis.ts does). May call `onLost` more than once. */
export const connectServer = async (options: RedisServerOptions, onLost: (reason: unknown) => void) => {
  const { client, blobType } = await openClient(options, [['SCRIPT', 'LOAD', consumeScript.text]])
  let isUsed = true
  const lose = (reason: unknown): void => {
    if (isUsed) onLost(reason)
  }
  client.on('error', lose)
  client.on('end', () => lose(new Error('the connection ended')))
  if (!client.isReady) throw new Error('the connection ended')
  const asBytes = client.withTypeMapping({ [blobType]: Buffer })
  const { replicas, replicaTimeoutMs } = options
  const sendWait = () => client.sendCommand(['WAIT', `${replicas}`, `${replicaTimeoutMs}`])
  const confirm = replicaConfirmation(replicas, sendWait)
  return {
    run({ text, sha }: RedisScript, { keys, args }: ScriptArgs, options: ScriptOptions = {}): Promise<unknown> {
      const { isReplicated = false, isAsking = false } = options
      const send = (command: 'EVALSHA' | 'EVAL', named: string): Promise<unknown> => {
        // Applies to the next command on the connection.
        if (isAsking) client.sendCommand(['ASKING']).catch(ignore)
        const reply = asBytes.sendCommand([command, named, `${keys.length}`, ...keys, ...args])
        return isReplicated && replicas > 0 ? Promise.all([reply, confirm()]).then(([first]) => first) : reply
      }
      return send('EVALSHA', sha).catch((error) => {
        if (!isUnknownScript(error)) throw error
        // The server was restarted behind a proxy, or its scripts were flushed.
        return send('EVAL', text)
      })
    },
    /** Without a call of `onLost`. */
    destroy(): void {
      isUsed = false
      if (client.isOpen) client.destroy()
    },
  }
}

/** Imports the library only here: a gateway without Redis does not load it. */
const openClient = async (options: RedisServerOptions, commands: readonly Command[]) => {
  const { RedisClient, RESP_TYPES } = await import('@redis/client')
  const { host, port, username, password, database, connectTimeoutMs } = options
  // `createClient` builds a class of all commands each time: retrying several servers would cost half a core.
  const client = new RedisClient({
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    database,
    socket: { host, port, connectTimeout: connectTimeoutMs, reconnectStrategy: false, ...tlsOptions(options) },
    disableOfflineQueue: true,
    disableClientInfo: true,
    // The library's timeout is a signal for each command, which lives for 5 s. Callers have timeouts.
    commandOptions: { timeout: 0 },
    // Not every server knows RESP 3 and maintenance notifications.
    RESP: 2,
    maintNotifications: 'disabled',
  })
  client.on('error', ignore) // the commands reject
  let isLate = false
  const timer = new CoalescedTimer(() => {
    isLate = true // the server accepts the connection but is silent
    client.destroy()
  })
  timer.set(connectTimeoutMs)
  try {
    await client.connect()
    const replies: readonly unknown[] = await Promise.all(commands.map((command) => client.sendCommand([...command])))
    return { client, replies, blobType: RESP_TYPES.BLOB_STRING }
  } catch (error) {
    if (client.isOpen) client.destroy()
    throw isLate ? new Error(`no reply within ${connectTimeoutMs}ms`) : error
  } finally {
    timer.clear()
  }
}

const tlsOptions = ({ tls, host }: RedisServerOptions) => {
  if (tls === null) return {}
  const isSystemDefault = tls.ca === null && tls.certificate === null
  return { tls: true as const, ...verifiedTls(host), ...(!isSystemDefault && { secureContext: getSecureContext(tls) }) }
}

/** Read once: unavailable servers are retried several times a second. */
const getSecureContext = weakMemo(({ ca, certificate, key }: RedisTls) =>
  createSecureContext({
    ...trustAnchors,
    ...(ca !== null && { ca }),
    ...(certificate !== null && { cert: certificate }),
    ...(key !== null && { key }),
  }),
)

const ignore = (): void => {}

const isUnknownScript = (error: unknown): boolean => error instanceof Error && error.message.startsWith('NOSCRIPT')

/** While `WAIT` runs, Redis runs no other command of the connection: one `WAIT` covers all writes sent before it. */
const replicaConfirmation = (replicas: number, sendWait: () => Promise<unknown>): (() => Promise<void>) => {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | null = null
  const wait = async (): Promise<void> => {
    next = null
    const reached = await sendWait()
    const count = typeof reached === 'number' ? reached : 0
    if (count < replicas) throw new Error(`${count} of ${replicas} replicas have the write`)
  }
  return () => {
    if (next === null) {
      next = last.then(wait)
      last = next.catch(() => {})
    }
    return next
  }
}

/** Runs atomically in Redis. */
export interface RedisScript {
  readonly text: string
  readonly sha: string
}

/** In a cluster all keys must share a slot, so they share a `{tag}`. */
export interface ScriptArgs {
  readonly keys: readonly string[]
  readonly args: readonly (string | Buffer)[]
}

export interface ScriptOptions {
  /** Rejects unless the configured number of replicas has the write. */
  readonly isReplicated?: boolean
  /** The server is taking over the slot (`ASKING`). */
  readonly isAsking?: boolean
}

export const createScript = (text: string): RedisScript => ({ text, sha: hash('sha1', text, 'hex') })

/** KEYS: entries. Returns how many existed. */
export const removeScript = createScript(`return redis.call('DEL', unpack(KEYS))`)

/**
 * `consumeToken` of core/lib/token-bucket.ts in Redis: the same steps on the same floating-point numbers, with all
 * digits. The clock is Redis's, so gateways' clocks need not agree. KEYS: the bucket. ARGV: tokens per millisecond,
 * burst. Redis expires a drained bucket.
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
