import type { ManagedRedis } from '../../redis/managed-redis.ts'
import { keySlot } from '../../redis/redis-cluster.ts'
import { removeScript, type ScriptArgs } from '../../redis/redis-server.ts'
import { zeroRedisCacheCounts } from '../store/stored-response.ts'
import * as redisEntry from './redis-entry.ts'

interface PendingWrite {
  readonly base: string
  readonly bytes: number
  toScriptArgs(): ScriptArgs
}

/** A larger response is not shared: the connection's next command waits for its transfer. */
export const maxSharedBytes = 1024 * 1024

// Encoding adds a little to the head.
const maxFoundBytes = String(maxSharedBytes + 128 * 1024)

// More waiting writes are dropped, and their responses not shared.
const maxQueuedBytes = 16 * 1024 * 1024
const maxQueuedWrites = 1000

// Requests do not wait for these commands; an operator's purge does.
const backgroundTimeoutMs = 1000

type Link = Pick<ManagedRedis, 'isShared' | 'timeoutMs' | 'run'>

export type RedisCacheStore = ReturnType<typeof createRedisCacheStore>

/** Never rejects, and requests do not wait for writes. `pendingKeys`: ended generations that Redis still has. */
export const createRedisCacheStore = (
  link: Link,
  space: redisEntry.CacheKeySpace,
  pendingKeys: readonly string[] = [],
) => {
  const counts = { ...zeroRedisCacheCounts }
  const queue: PendingWrite[] = []
  let queuedBytes = 0
  let isWriting = false

  const sendRenewal: SendPurges = async (keys, waitMs = backgroundTimeoutMs) => {
    if (!link.isShared) return false
    const args = [redisEntry.newGeneration(), redisEntry.generationMs]
    const keysOfSlots = space.isCluster ? [...Map.groupBy(keys, keySlot).values()] : [keys]
    const replies = await Promise.all(
      keysOfSlots.map((keysOfSlot) => link.run(redisEntry.renewScript, { keys: keysOfSlot, args }, { waitMs })),
    )
    return replies.every((reply) => reply !== null)
  }
  const ofAll = redisEntry.purgedGenerationKeys(space, { operation: null, client: null })
  const purges = createPendingPurges(ofAll, sendRenewal, pendingKeys)

  const writeAll = async (): Promise<void> => {
    isWriting = true
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const isStored =
        link.isShared &&
        (await link.run(redisEntry.storeScript, next.toScriptArgs(), { waitMs: backgroundTimeoutMs })) !== null
      if (!isStored) counts.dropped++
      queuedBytes -= next.bytes
    }
    isWriting = false
  }

  return {
    ...{ link, space, counts, purges },
    /** Null: no reply, an invalid reply, or a pending purge. */
    async find(key: string, generationKeys: readonly string[]): Promise<redisEntry.RedisEntry | null> {
      if (purges.has(generationKeys)) return null
      const reply = await link.run(redisEntry.findScript, { keys: [key, ...generationKeys], args: [maxFoundBytes] })
      if (reply === null) return null
      const entry = redisEntry.parseEntry(reply)
      if (entry === null) counts.rejected++
      return entry
    },
    write(pendingWrite: PendingWrite): void {
      if (queue.length >= maxQueuedWrites || queuedBytes + pendingWrite.bytes > maxQueuedBytes)
        return void counts.dropped++
      queue.push(pendingWrite)
      queuedBytes += pendingWrite.bytes
      if (!isWriting) void writeAll()
    },
    /** Also drops waiting writes. Resolves with whether Redis removed the keys. */
    async remove(base: string, keys: readonly string[]): Promise<boolean> {
      for (const pendingWrite of queue.splice(0)) {
        if (pendingWrite.base !== base) queue.push(pendingWrite)
        else queuedBytes -= pendingWrite.bytes
      }
      return (await link.run(removeScript, { keys, args: [] }, { waitMs: backgroundTimeoutMs })) !== null
    },
    /** Waits as long as a lookup at most. Null: Redis is not available. */
    renewGenerationsInTime(keys: readonly string[]): Promise<boolean> | null {
      const renewed = purges.add(keys, link.timeoutMs)
      return link.isShared ? renewed : null
    },
  }
}

// With more, one purge replaces those of the operation with the most.
const maxPending = 10_000
const batchSize = 500

/** Resolves with whether Redis acknowledged within `waitMs` (default 1 s). */
type SendPurges = (keys: readonly string[], waitMs?: number) => Promise<boolean>

/** Entries of a purge are unused until Redis acknowledges it. Other keys start with one of `operations` and `:`. */
export const createPendingPurges = (operations: readonly string[], send: SendPurges, first: readonly string[] = []) => {
  /** By key, the number of its last purge: a key that is purged again during the command stays pending. */
  const pending = new Map<string, number>()
  let last = 0
  let sending = 0
  const remember = (keys: readonly string[]): void => {
    for (const key of keys) pending.set(key, ++last)
  }

  /** A client that causes many purges affects no other operation. */
  const widenLargest = (): void => {
    const partsOf = (operation: string) => [...pending.keys()].filter((key) => key.startsWith(`${operation}:`))
    const all = operations.map((operation) => ({ operation, parts: partsOf(operation) }))
    const [largest] = all.sort((one, other) => other.parts.length - one.parts.length)
    if (largest === undefined) return
    for (const key of largest.parts) pending.delete(key)
    remember([largest.operation])
  }

  const sendAll = async (keys: readonly string[], waitMs?: number): Promise<boolean> => {
    const when = new Map(keys.map((key) => [key, pending.get(key)]))
    sending++
    const isAcknowledged = await send(keys, waitMs)
    sending--
    if (isAcknowledged) for (const [key, last] of when) if (pending.get(key) === last) pending.delete(key)
    return isAcknowledged
  }

  /** Stops at the first batch that Redis does not acknowledge. */
  const resend = async (): Promise<void> => {
    const keys = [...pending.keys()]
    for (let at = 0; at < keys.length; at += batchSize) if (!(await sendAll(keys.slice(at, at + batchSize)))) return
  }

  remember(first)
  return {
    keys: (): readonly string[] => [...pending.keys()],
    /** Also sends all pending purges again. */
    has(keys: readonly string[]): boolean {
      if (pending.size === 0) return false
      if (sending === 0) void resend()
      return keys.some((key) => pending.has(key))
    },
    resend,
    /** Until Redis acknowledges, the keys are not looked up, and the command is repeated. */
    add(keys: readonly string[], waitMs?: number): Promise<boolean> {
      remember(keys)
      if (pending.size > maxPending) widenLargest()
      return sendAll(keys, waitMs)
    },
  }
}
