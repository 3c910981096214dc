import { hash } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import { CoalescedTimer } from '../../core/lib/clock.ts'
import { weakMemo } from '../../core/lib/memo.ts'
import { trustAnchors, verifiedTls } from '../../core/lib/net/tls.ts'
import type { RedisServerOptions, RedisTls } from './redis-settings.ts'

export interface RedisServer {
  /** Runs a script. `isAsking`: the server is to serve keys of a slot that it is just taking over (`ASKING`). */
  run(
    script: RedisScript,
    invocation: ScriptArgs,
    options?: ScriptOptions & { readonly isAsking?: boolean },
  ): Promise<unknown>
  /** Closes it at once; {@link connectServer} calls `onLost` no more. */
  destroy(): void
}

type Command = readonly string[]

/** A server that is asked where others are: a Sentinel, or a node of a cluster. */
export type DirectoryServer = Awaited<ReturnType<typeof connectDirectory>>

/** Connects to a server, and asks first commands. Rejects when one has no reply within a short time. */
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

/**
 * Connects to one server. It never reconnects by itself and queues nothing: that is decided in one place
 * (managed-redis.ts). `onLost` is called when the connection has ended, once or more often.
 */
export const connectServer = async (
  options: RedisServerOptions,
  onLost: (reason: unknown) => void,
): Promise<RedisServer> => {
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
  const confirm = replicaConfirmation(replicas, () =>
    client.sendCommand(['WAIT', `${replicas}`, `${replicaTimeoutMs}`]),
  )
  return {
    run({ text, sha }, { keys, args }, { isReplicated = false, isAsking = false } = {}) {
      const send = (command: 'EVALSHA' | 'EVAL', named: string): Promise<unknown> => {
        // It holds for the next command on the connection.
        if (isAsking) client.sendCommand(['ASKING']).catch(ignore)
        const reply = asBytes.sendCommand([command, named, `${keys.length}`, ...keys, ...args])
        return isReplicated && replicas > 0 ? Promise.all([reply, confirm()]).then(([first]) => first) : reply
      }
      return send('EVALSHA', sha).catch((error) => {
        if (!isUnknownScript(error)) throw error
        // The server has not loaded it yet, was restarted behind a proxy, or was told to forget its scripts.
        return send('EVAL', text)
      })
    },
    destroy() {
      isUsed = false
      if (client.isOpen) client.destroy()
    },
  }
}

/** Opens a connection, and sends first commands. The library is only loaded here: a gateway without Redis has none. */
const openClient = async (options: RedisServerOptions, commands: readonly Command[]) => {
  const { RedisClient, RESP_TYPES } = await import('@redis/client')
  const { host, port, username, password, database, connectTimeoutMs } = options
  // `createClient` makes a class of all commands for each change of options: several servers that are tried again would
  // cost half a core.
  const client = new RedisClient({
    ...(username !== null && { username }),
    ...(password !== null && { password }),
    database,
    socket: { host, port, connectTimeout: connectTimeoutMs, reconnectStrategy: false, ...tlsOptions(options) },
    disableOfflineQueue: true,
    disableClientInfo: true,
    // The library's own is a signal for each command, which lives for 5 s. Who asks has a timeout already.
    commandOptions: { timeout: 0 },
    // What else they can do is of no use here, and not every server knows it.
    RESP: 2,
    maintNotifications: 'disabled',
  })
  client.on('error', ignore) // what is asked rejects
  let isLate = false
  const timer = new CoalescedTimer(() => {
    isLate = true // a server that accepts and is silent
    client.destroy()
  })
  timer.set(connectTimeoutMs)
  try {
    await client.connect()
    const replies: readonly unknown[] = await Promise.all(commands.map((command) => client.sendCommand([...command])))
    return { client, replies, blobType: RESP_TYPES.BLOB_STRING }
  } catch (error) {
    if (client.isOpen) client.destroy()
    throw isLate ? new Error(`no answer within ${connectTimeoutMs}ms`) : error
  } finally {
    timer.clear()
  }
}

const tlsOptions = ({ tls, host }: RedisServerOptions) => {
  if (tls === null) return {}
  const isSystemDefault = tls.ca === null && tls.certificate === null
  return { tls: true as const, ...verifiedTls(host), ...(!isSystemDefault && { secureContext: getSecureContext(tls) }) }
}

/**
 * Reads the authorities and the certificate once, not for each connection: servers that are away are tried again
 * several times a second.
 */
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

/**
 * Creates a function that confirms what was sent on a connection before: `sendWait` sends `WAIT` there, and resolves
 * with how many replicas have it. The function rejects when there are fewer than `replicas`.
 *
 * Redis runs no other command of the connection while it waits. So one `WAIT` at a time is on its way, and the next is
 * for all that was sent meanwhile.
 */
const replicaConfirmation = (replicas: number, sendWait: () => Promise<unknown>): (() => Promise<void>) => {
  let last: Promise<unknown> = Promise.resolve()
  let next: Promise<void> | null = null
  const wait = async (): Promise<void> => {
    next = null
    const reached = await sendWait()
    const count = typeof reached === 'number' ? reached : 0
    if (count < replicas) throw new Error(`${count} of ${replicas} replicas have what was written`)
  }
  return () => {
    if (next === null) {
      next = last.then(wait)
      last = next.catch(() => {})
    }
    return next
  }
}

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
