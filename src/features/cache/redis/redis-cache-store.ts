import type { ManagedRedis } from '../../redis/managed-redis.ts'
import { keySlot } from '../../redis/redis-cluster.ts'
import { removeScript, type ScriptArgs } from '../../redis/redis-server.ts'
import * as redisEntry from './redis-entry.ts'

interface PendingWrite {
  readonly base: string
  readonly bytes: number
  /** Called when the write is sent. */
  toScriptArgs(): ScriptArgs
}

/** The largest shared response: the connection's next command waits until a response has arrived. */
export const maxSharedBytes = 1024 * 1024

// Encoding adds a little to the head.
const maxFoundBytes = String(maxSharedBytes + 128 * 1024)

// The most waiting writes. A response beyond these is not shared.
const maxQueuedBytes = 16 * 1024 * 1024
const maxQueuedWrites = 1000

// No request waits for these commands, except an operator's purge.
const backgroundTimeoutMs = 1000

/** `refused`: invalid, or of another key. `dropped`: not written, as too many were waiting or Redis failed. */
export const zeroRedisCacheCounts = { found: 0, refused: 0, dropped: 0 }

type Link = Pick<ManagedRedis, 'isShared' | 'timeoutMs' | 'run'>

/** Nothing here rejects, and no request waits for a write. */
export class RedisCacheStore {
  readonly space: redisEntry.CacheKeySpace
  readonly counts = { ...zeroRedisCacheCounts }
  readonly link: Link
  readonly purges: PendingPurges
  readonly #queue: PendingWrite[] = []
  #queuedBytes = 0
  #isWriting = false

  /** `pendingKeys`: generations that have ended without Redis knowing. */
  constructor(link: Link, space: redisEntry.CacheKeySpace, pendingKeys: readonly string[] = []) {
    this.link = link
    this.space = space
    this.purges = new PendingPurges(
      redisEntry.purgedGenerationKeys(space, { operation: null, client: null }),
      (keys, waitMs) => this.#sendRenewal(keys, waitMs),
      pendingKeys,
    )
  }

  /** Null: no reply, an invalid one, or a pending purge. */
  async find(key: string, generationKeys: readonly string[]): Promise<redisEntry.RedisEntry | null> {
    if (this.purges.has(generationKeys)) return null
    const reply = await this.link.run(redisEntry.findScript, { keys: [key, ...generationKeys], args: [maxFoundBytes] })
    if (reply === null) return null
    const entry = redisEntry.parseEntry(reply)
    if (entry === null) this.counts.refused++
    return entry
  }

  write(pendingWrite: PendingWrite): void {
    if (this.#queue.length >= maxQueuedWrites || this.#queuedBytes + pendingWrite.bytes > maxQueuedBytes) {
      this.counts.dropped++
      return
    }
    this.#queue.push(pendingWrite)
    this.#queuedBytes += pendingWrite.bytes
    if (!this.#isWriting) void this.#writeAll()
  }

  /** Also drops waiting writes. Resolves with whether Redis removed the keys. */
  async remove(base: string, keys: readonly string[]): Promise<boolean> {
    for (const pendingWrite of this.#queue.splice(0)) {
      if (pendingWrite.base !== base) this.#queue.push(pendingWrite)
      else this.#queuedBytes -= pendingWrite.bytes
    }
    return (await this.link.run(removeScript, { keys, args: [] }, { waitMs: backgroundTimeoutMs })) !== null
  }

  /** Waits no longer than a lookup. Null: Redis is not available. */
  renewGenerationsInTime(keys: readonly string[]): Promise<boolean> | null {
    const { isShared, timeoutMs } = this.link
    const renewed = this.purges.add(keys, timeoutMs)
    return isShared ? renewed : null
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const isStored =
        this.link.isShared &&
        (await this.link.run(redisEntry.storeScript, next.toScriptArgs(), { waitMs: backgroundTimeoutMs })) !== null
      if (!isStored) this.counts.dropped++
      this.#queuedBytes -= next.bytes
    }
    this.#isWriting = false
  }

  async #sendRenewal(keys: readonly string[], waitMs = backgroundTimeoutMs): Promise<boolean> {
    if (!this.link.isShared) return false
    const args = [redisEntry.newGeneration(), redisEntry.generationMs]
    const keysOfSlots = this.space.isCluster ? [...Map.groupBy(keys, keySlot).values()] : [keys]
    const replies = await Promise.all(
      keysOfSlots.map((keysOfSlot) => this.link.run(redisEntry.renewScript, { keys: keysOfSlot, args }, { waitMs })),
    )
    return replies.every((reply) => reply !== null)
  }
}

// Beyond this number, one purge covers the operation with the most.
const maxPending = 10_000
const batchSize = 500

/** Resolves with whether Redis acknowledged within `waitMs` (default 1 s). */
type SendPurges = (keys: readonly string[], waitMs?: number) => Promise<boolean>

/** Purges that Redis has not acknowledged: entries stay while Redis is down, and must not be used before. */
export class PendingPurges {
  readonly #send: SendPurges
  readonly #operations: readonly string[]
  /** By key, the number of its last purge: a purge that is repeated while being sent stays pending. */
  readonly #keys = new Map<string, number>()
  #last = 0
  #sending = 0

  /** Every other key starts with one of `operations` and a colon. */
  constructor(operations: readonly string[], send: SendPurges, pending: readonly string[] = []) {
    this.#operations = operations
    this.#send = send
    for (const key of pending) this.#keys.set(key, ++this.#last)
  }

  get keys(): readonly string[] {
    return [...this.#keys.keys()]
  }

  /** If any purge is pending, all are sent again. */
  has(keys: readonly string[]): boolean {
    if (this.#keys.size === 0) return false
    if (this.#sending === 0) void this.resend()
    return keys.some((key) => this.#keys.has(key))
  }

  /** Stops at the first batch that Redis does not acknowledge. */
  async resend(): Promise<void> {
    const { keys } = this
    for (let at = 0; at < keys.length; at += batchSize)
      if (!(await this.#sendAll(keys.slice(at, at + batchSize)))) return
  }

  /** Resolves with whether Redis acknowledged. Until then these are not looked up, and the command is repeated. */
  add(keys: readonly string[], waitMs?: number): Promise<boolean> {
    for (const key of keys) this.#keys.set(key, ++this.#last)
    if (this.#keys.size > maxPending) this.#widenLargest()
    return this.#sendAll(keys, waitMs)
  }

  /** A client that causes many purges affects no other operation. */
  #widenLargest(): void {
    const partsOf = (operation: string) => this.keys.filter((key) => key.startsWith(`${operation}:`))
    const all = this.#operations.map((operation) => ({ operation, parts: partsOf(operation) }))
    const [largest] = all.sort((one, other) => other.parts.length - one.parts.length)
    if (largest === undefined) return
    for (const key of largest.parts) this.#keys.delete(key)
    this.#keys.set(largest.operation, ++this.#last)
  }

  async #sendAll(keys: readonly string[], waitMs?: number): Promise<boolean> {
    const when = new Map(keys.map((key) => [key, this.#keys.get(key)]))
    this.#sending++
    const isAcknowledged = await this.#send(keys, waitMs)
    this.#sending--
    if (isAcknowledged) for (const [key, last] of when) if (this.#keys.get(key) === last) this.#keys.delete(key)
    return isAcknowledged
  }
}
