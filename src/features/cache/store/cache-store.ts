import { LRUCache } from 'lru-cache'
import type { OperationId } from '../../../operations.ts'
import {
  type CacheKey,
  type CacheOutcome,
  maxOutsideShare,
  PinnedBytes,
  type StoredResponse,
  zeroCacheOutcomes,
} from './stored-response.ts'

/** For one operation, in present and former partitions. `counts` never decrease. */
export interface CacheTally {
  readonly counts: Record<CacheOutcome, number>
  lastError: StoredError | null
}

/** The last stored 5xx that a client got. Times: milliseconds since the epoch. */
export interface StoredError {
  readonly status: number
  readonly sentAt: number
  readonly freshUntil: number
  readonly servedAt: number
}

interface StoredIn {
  readonly operation: OperationId
  invalidate(query: string): void
  /** `by`: 1 stored, -1 removed. */
  onChanged(by: 1 | -1, key: string, query: string, bytes: number, variants: number): void
}

export interface Resource extends CacheKey {
  readonly partition: StoredIn
  /** The latest first. */
  readonly variants: readonly StoredResponse[]
}

/** Null: all. */
export interface PurgeScope {
  readonly operation: OperationId | null
  readonly client: string | null
}

/** Room for a response that is arriving. */
export class Reservation {
  readonly partition: StoredIn
  readonly cacheKey: CacheKey
  /** The key became invalid: the response is neither stored nor shared. */
  isCanceled = false
  readonly #store: CacheStore
  #bytes = 0

  constructor(store: CacheStore, partition: StoredIn, cacheKey: CacheKey) {
    this.#store = store
    this.partition = partition
    this.cacheKey = cacheKey
  }

  grow(bytes: number): boolean {
    const hasRoom = this.#store.reserveBytes(bytes)
    if (hasRoom) this.#bytes += bytes
    return hasRoom
  }

  /** Moves the bytes to a reservation for a response that is held in memory but not stored. */
  split(): Reservation {
    const held = new Reservation(this.#store, this.partition, this.cacheKey)
    held.#bytes = this.#bytes
    this.#bytes = 0
    return held
  }

  shrinkTo(bytes: number): void {
    if (bytes >= this.#bytes) return
    this.#store.reservedBytes -= this.#bytes - bytes
    this.#bytes = bytes
  }

  release(): void {
    this.shrinkTo(0)
    this.#store.reservations.delete(this)
  }
}

// Uncounted memory of a resource and of a variant: objects, allocation, map, LRU list.
const resourceBytes = 768
const variantBytes = 512

// For one key: clients can vary the Vary fields at will.
const maxVariants = 32

/** Counts bodies, fields and keys, including responses that are arriving, and bodies that clients still read. */
export class CacheStore {
  maxBytes: number
  readonly #resources = new LRUCache<string, Resource>({
    // The library's limit ignores responses that are arriving, and cannot change.
    maxSize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: sizeOf,
    dispose: ({ partition, query, variants }, key, reason) => {
      partition.onChanged(-1, key, query, sizeOf({ variants }, key), variants.length)
      for (const { body } of variants) this.pinned.onRemoved(body)
      if (reason === 'evict') this.evictions++
    },
  })
  readonly reservations = new Set<Reservation>()
  reservedBytes = 0
  readonly pinned = new PinnedBytes()
  readonly #partitions = new Set<StoredIn>()
  readonly #tallies = new Map<OperationId, CacheTally>()
  #opened = 0
  evictions = 0

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  add(partition: StoredIn): { readonly id: string; readonly tally: CacheTally } {
    const { operation } = partition
    const tally = this.#tallies.get(operation) ?? { counts: { ...zeroCacheOutcomes }, lastError: null }
    this.#tallies.set(operation, tally)
    this.#partitions.add(partition)
    return { id: String(this.#opened++), tally }
  }

  /** Stored, arriving, and still read. */
  get bytes(): number {
    return this.#resources.calculatedSize + this.#outside
  }

  /** Bytes that eviction does not free. */
  get #outside(): number {
    return this.reservedBytes + this.pinned.bytes
  }

  setMaxBytes(maxBytes: number): void {
    this.maxBytes = maxBytes
    while (this.bytes > maxBytes && this.#resources.size > 0) this.#resources.pop()
  }

  /** For all clients; also cancels responses that are arriving (RFC 9111 §4.4). */
  invalidate(operation: OperationId, query: string): void {
    for (const partition of this.#partitions) if (partition.operation === operation) partition.invalidate(query)
  }

  get size(): number {
    return this.#resources.size
  }

  purge({ operation, client }: PurgeScope): number {
    return this.#removeAll(
      (partition, cacheKey) =>
        (operation === null || operation === partition.operation) && (client === null || client === cacheKey.client),
    )
  }

  /** Also cancels responses that are arriving. */
  dropPartition(partition: StoredIn): void {
    this.#partitions.delete(partition)
    this.#removeAll((each) => each === partition)
  }

  #removeAll(matches: (partition: StoredIn, cacheKey: CacheKey) => boolean): number {
    this.cancelReservations(({ partition, cacheKey }) => matches(partition, cacheKey))
    let removed = 0
    // A copy: deletions would end the iteration.
    for (const [key, resource] of [...this.#resources.entries()]) {
      if (!matches(resource.partition, resource)) continue
      removed += resource.variants.length
      this.#resources.delete(key)
    }
    return removed
  }

  find(key: string): Resource | undefined {
    return this.#resources.get(key)
  }

  /** False: no room. */
  put(
    key: string,
    resource: Omit<Resource, 'variants'>,
    variant: StoredResponse,
    replaces: (other: StoredResponse) => boolean,
  ): boolean {
    const before = this.#resources.peek(key)?.variants ?? []
    const variants = [variant, ...before.filter((each) => !replaces(each))].slice(0, maxVariants)
    while (variants.length > 1 && sizeOf({ variants }, key) > this.maxBytes - this.#outside) variants.pop()
    // First, so that a body that stays never counts as unstored.
    for (const { body } of variants) this.pinned.onStored(body)
    this.#resources.delete(key)
    const hasRoom = this.#makeRoom(sizeOf({ variants }, key))
    if (hasRoom) this.#set(key, { ...resource, variants })
    else for (const { body } of variants) this.pinned.onRemoved(body)
    return hasRoom
  }

  remove(key: string, matches: (variant: StoredResponse) => boolean): void {
    const resource = this.#resources.peek(key)
    if (resource === undefined) return
    const variants = resource.variants.filter((each) => !matches(each))
    if (variants.length === resource.variants.length) return
    for (const { body } of variants) this.pinned.onStored(body)
    this.#resources.delete(key)
    if (variants.length > 0) this.#set(key, { ...resource, variants })
  }

  /** Takes no bytes until it {@link Reservation.grow}s. */
  reserve(partition: StoredIn, cacheKey: CacheKey): Reservation {
    const reservation = new Reservation(this, partition, cacheKey)
    this.reservations.add(reservation)
    return reservation
  }

  /** For responses requested before they became invalid. */
  cancelReservations(matches: (reservation: Reservation) => boolean): void {
    for (const reservation of this.reservations) if (matches(reservation)) reservation.isCanceled = true
  }

  /** False: no room, even after evicting everything. */
  reserveBytes(bytes: number): boolean {
    if (this.#outside + bytes > this.maxBytes * maxOutsideShare || !this.#makeRoom(bytes)) return false
    this.reservedBytes += bytes
    return true
  }

  #set(key: string, resource: Resource): void {
    const { partition, query, variants } = resource
    this.#resources.set(key, resource)
    partition.onChanged(1, key, query, sizeOf({ variants }, key), variants.length)
  }

  #makeRoom(bytes: number): boolean {
    while (bytes <= this.maxBytes - this.#outside && this.bytes + bytes > this.maxBytes) this.#resources.pop()
    return this.bytes + bytes <= this.maxBytes
  }
}

const sizeOf = ({ variants }: Pick<Resource, 'variants'>, key: string): number =>
  variants.reduce(
    (sum, { head, body }) => sum + head.bytes + body.bytes.length + variantBytes,
    // Comparing keys flattens the key, which then holds a second copy of the query.
    resourceBytes + 2 * key.length,
  )
