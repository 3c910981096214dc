import type { ManagedRedis } from '../../redis/managed-redis.ts'
import { keySlot } from '../../redis/redis-cluster.ts'
import { removeScript, type ScriptArgs } from '../../redis/redis-server.ts'
import {
  type CacheKeySpace,
  findScript,
  generationMs,
  newGeneration,
  parseEntry,
  purgedGenerationKeys,
  type RedisEntry,
  renewScript,
  storeScript,
} from './redis-entry.ts'

interface PendingWrite {
  readonly base: string
  readonly bytes: number
  /** Encodes the response when its turn has come. */
  toScriptArgs(): ScriptArgs
}

/** The most bytes of a response: the next command on the same connection waits until it has come. */
export const maxSharedBytes = 1024 * 1024

// The head grows a little when it is written.
const maxFoundBytes = String(maxSharedBytes + 128 * 1024)

// Of the writes that wait. A response beyond that is not shared.
const maxQueuedBytes = 16 * 1024 * 1024
const maxQueuedWrites = 1000

// No request waits for these, but for an operator's purge.
const backgroundTimeoutMs = 1000

/** The counts of a Redis that gateways store in. Those of several workers add up, and /status shows each. */
export const zeroRedisCacheCounts = {
  found: 0,
  /** Entries that were no records, or of another key. */
  refused: 0,
  /** Responses that were not written: too much was waiting, or Redis did not take them. */
  dropped: 0,
}

/** They never decrease. */
export type RedisCacheCounts = Readonly<typeof zeroRedisCacheCounts>

type Link = Pick<ManagedRedis, 'isShared' | 'timeoutMs' | 'run'>

/**
 * The Redis in which several gateways store, for all operations of this one. Nothing here rejects, and no request waits
 * for a response to be written.
 */
export class RedisCacheStore {
  readonly space: CacheKeySpace
  readonly counts: { -readonly [Name in keyof RedisCacheCounts]: number } = { ...zeroRedisCacheCounts }
  readonly link: Link
  readonly #pendingPurges: PendingPurges
  readonly #queue: PendingWrite[] = []
  #queuedBytes = 0
  #isWriting = false

  /** `pendingKeys`: those of generations that have ended, and of which Redis does not know yet. */
  constructor(link: Link, space: CacheKeySpace, pendingKeys: readonly string[] = []) {
    this.link = link
    this.space = space
    this.#pendingPurges = new PendingPurges(
      purgedGenerationKeys(space, { operation: null, client: null }),
      (keys, waitMs) => this.#sendRenewal(keys, waitMs),
      pendingKeys,
    )
  }

  get pendingKeys(): readonly string[] {
    return this.#pendingPurges.keys
  }

  /** Finds what is under a key; null: unknown. */
  async find(key: string, generationKeys: readonly string[]): Promise<RedisEntry | null> {
    if (this.#pendingPurges.has(generationKeys)) return null
    const reply = await this.link.run(findScript, { keys: [key, ...generationKeys], args: [maxFoundBytes] })
    if (reply === null) return null
    const entry = parseEntry(reply)
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

  /** Removes keys of one base; resolves with whether Redis did. What is still to be written under it goes, too. */
  async remove(base: string, keys: readonly string[]): Promise<boolean> {
    for (const pendingWrite of this.#queue.splice(0)) {
      if (pendingWrite.base !== base) this.#queue.push(pendingWrite)
      else this.#queuedBytes -= pendingWrite.bytes
    }
    return (await this.link.run(removeScript, { keys, args: [] }, { waitMs: backgroundTimeoutMs })) !== null
  }

  /**
   * Ends generations; resolves with whether Redis knows by now. Until it does, no entry of theirs is looked up, and
   * they are sent again as soon as Redis is available.
   */
  renewGenerations(keys: readonly string[]): Promise<boolean> {
    return this.#pendingPurges.add(keys)
  }

  /**
   * Ends generations as {@link renewGenerations} does, while a request waits: no longer than for a lookup. Null: Redis
   * is not available, and there is nothing to wait for.
   */
  renewGenerationsInTime(keys: readonly string[]): Promise<boolean> | null {
    const { isShared, timeoutMs } = this.link
    const renewed = this.#pendingPurges.add(keys, timeoutMs)
    return isShared ? renewed : null
  }

  /** Tells Redis of the generations that have ended while it was not available. */
  resendRenewals(): void {
    void this.#pendingPurges.resend()
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      const isStored =
        this.link.isShared &&
        (await this.link.run(storeScript, next.toScriptArgs(), { waitMs: backgroundTimeoutMs })) !== null
      if (!isStored) this.counts.dropped++
      this.#queuedBytes -= next.bytes
    }
    this.#isWriting = false
  }

  async #sendRenewal(keys: readonly string[], waitMs = backgroundTimeoutMs): Promise<boolean> {
    if (!this.link.isShared) return false
    const args = [newGeneration(), generationMs]
    const keysOfSlots = this.space.isCluster ? [...Map.groupBy(keys, keySlot).values()] : [keys]
    const replies = await Promise.all(
      keysOfSlots.map((keysOfSlot) => this.link.run(renewScript, { keys: keysOfSlot, args }, { waitMs })),
    )
    return replies.every((reply) => reply !== null)
  }
}

// Beyond so many, one purge covers all of the operation that has the most.
const maxPending = 10_000
const batchSize = 500

/** Sends purges; resolves with whether Redis acknowledged them within `waitMs`, or a time of its own. Never rejects. */
type SendPurges = (keys: readonly string[], waitMs?: number) => Promise<boolean>

/**
 * The purges that Redis has not acknowledged. While Redis is down its entries stay, and when it is back they must not
 * be believed before it has the purges.
 */
export class PendingPurges {
  readonly #send: SendPurges
  readonly #operations: readonly string[]
  /** By key, the number of its last purge: a purge that is repeated while it is sent stays pending. */
  readonly #keys = new Map<string, number>()
  #last = 0
  #sending = 0

  /**
   * `operations`: the keys of operations; each other key begins with one of them and a colon, and is of a part of it.
   * `pending`: those of purges that are pending already.
   */
  constructor(operations: readonly string[], send: SendPurges, pending: readonly string[] = []) {
    this.#operations = operations
    this.#send = send
    for (const key of pending) this.#keys.set(key, ++this.#last)
  }

  get keys(): readonly string[] {
    return [...this.#keys.keys()]
  }

  /** Tells whether one of these keys is pending; if any is, the pending purges are sent again. */
  has(keys: readonly string[]): boolean {
    if (this.#keys.size === 0) return false
    if (this.#sending === 0) void this.resend()
    return keys.some((key) => this.#keys.has(key))
  }

  /** Sends the pending purges again, until Redis does not acknowledge some. */
  async resend(): Promise<void> {
    const { keys } = this
    for (let at = 0; at < keys.length; at += batchSize)
      if (!(await this.#sendAll(keys.slice(at, at + batchSize)))) return
  }

  add(keys: readonly string[], waitMs?: number): Promise<boolean> {
    for (const key of keys) this.#keys.set(key, ++this.#last)
    if (this.#keys.size > maxPending) this.#widenLargest()
    return this.#sendAll(keys, waitMs)
  }

  /** Has one purge cover all of the operation that has the most: a client that causes many takes no other with it. */
  #widenLargest(): void {
    const { keys } = this
    const [largest] = this.#operations
      .map((operation) => ({ operation, parts: keys.filter((key) => key.startsWith(`${operation}:`)) }))
      .sort((one, other) => other.parts.length - one.parts.length)
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
