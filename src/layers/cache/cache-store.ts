import { LRUCache } from 'lru-cache'
import type { OperationId } from '../../operations.ts'
import { CachePartition } from './partition.ts'
import { PinnedBytes } from './pinned-bytes.ts'
import type { StoredResponse } from './stored-response.ts'

/** Names what is asked for, within an operation. */
export interface CacheKey {
  /** Whose it is, by the client's id; empty: anybody's. */
  readonly client: string
  /** Scheme and authority by which it was asked for, and what upstreams are told of them: an answer may say them again. */
  readonly site: string
  /** The raw query with its `?`, or empty. */
  readonly query: string
}

/** Is all that is stored under one key. */
export interface Resource extends CacheKey {
  readonly partition: CachePartition
  /** Answers that `Vary` tells apart, the latest first. */
  readonly variants: readonly StoredResponse[]
}

/** Says what to clear; null: all. */
export interface PurgeScope {
  readonly operation: OperationId | null
  readonly client: string | null
}

// What a resource and a variant take beside what is counted of them: objects, memory of its own for a body, map, list of use.
const resourceBytes = 768
const variantBytes = 512

// Of what one key may hold: who asks for it may vary what an answer varies by as he likes.
const maxVariants = 32

/**
 * Holds what is stored of all operations within one bound of bytes: bodies, fields and keys are counted, and so are answers that are still on
 * their way, and bodies that clients still read. What was used longest ago makes room. One for each process; it outlives snapshots.
 */
export class CacheStore {
  #maxBytes: number
  readonly #resources: LRUCache<string, Resource>
  readonly #reservations = new Set<Reservation>()
  #reservedBytes = 0
  /** What clients still read. */
  readonly pinned = new PinnedBytes()
  readonly #partitions = new Set<CachePartition>()
  #opened = 0
  /** How many resources had to make room. */
  evictions = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
    this.#resources = new LRUCache<string, Resource>({
      // Its own bound would not know of what is on its way, and cannot be changed.
      maxSize: Number.MAX_SAFE_INTEGER,
      sizeCalculation: sizeOf,
      dispose: ({ partition, query, variants }, key, reason) => {
        partition.onRemoved(key, query, sizeOf({ variants }, key), variants.length)
        for (const { body } of variants) this.pinned.onRemoved(body)
        if (reason === 'evict') this.evictions++
      },
    })
  }

  /** Opens the part of an operation. It is empty, whatever was stored for that operation before. */
  openPartition(operation: OperationId): CachePartition {
    const partition = new CachePartition(this, operation, String(this.#opened++))
    this.#partitions.add(partition)
    return partition
  }

  /** Bytes of all that is stored, on its way, or still read. */
  get bytes(): number {
    return this.#resources.calculatedSize + this.#outside
  }

  /** Bytes that no eviction gives back. */
  get #outside(): number {
    return this.#reservedBytes + this.pinned.bytes
  }

  get maxBytes(): number {
    return this.#maxBytes
  }

  /** Has another bound hold from now on. */
  setMaxBytes(maxBytes: number): void {
    this.#maxBytes = maxBytes
    while (this.bytes > maxBytes && this.#resources.size > 0) this.#resources.pop()
  }

  /** Removes what is stored for a query of an operation, of all clients, and what is on its way for it (RFC 9111 §4.4). */
  invalidate(operation: OperationId, query: string): void {
    for (const partition of this.#partitions) if (partition.operation === operation) partition.invalidate(query)
  }

  /** How many keys there are. */
  get size(): number {
    return this.#resources.size
  }

  /** Removes what is stored, of an operation, of a client, of one client for one operation, or all of it; tells how many answers that were. */
  purge({ operation, client }: PurgeScope): number {
    const isInScope = (partition: CachePartition, cacheKey: CacheKey): boolean =>
      (operation === null || operation === partition.operation) && (client === null || client === cacheKey.client)
    this.cancelReservations(({ partition, cacheKey }) => isInScope(partition, cacheKey))
    let removed = 0
    // A copy: what is deleted while it is walked through would end the walk.
    for (const [key, resource] of [...this.#resources.entries()]) {
      if (!isInScope(resource.partition, resource)) continue
      removed += resource.variants.length
      this.#resources.delete(key)
    }
    return removed
  }

  /** Takes out a part, and all that it has. */
  dropPartition(partition: CachePartition): void {
    this.#partitions.delete(partition)
    for (const [key, resource] of [...this.#resources.entries()])
      if (resource.partition === partition) this.#resources.delete(key)
  }

  /** Finds what is stored under a key, which counts as used. */
  find(key: string): Resource | undefined {
    return this.#resources.get(key)
  }

  /** Puts a variant before those that are there, without those that it replaces. */
  put(
    key: string,
    resource: Omit<Resource, 'variants'>,
    variant: StoredResponse,
    replaces: (other: StoredResponse) => boolean,
  ): void {
    const before = this.#resources.peek(key)?.variants ?? []
    const variants = [variant, ...before.filter((each) => !replaces(each))].slice(0, maxVariants)
    while (variants.length > 1 && sizeOf({ variants }, key) > this.#maxBytes - this.#outside) variants.pop()
    for (const { body } of variants) this.pinned.onStored(body) // before they leave: those that stay are not out meanwhile
    this.#resources.delete(key)
    if (this.#makeRoom(sizeOf({ variants }, key))) this.#set(key, { ...resource, variants })
    else for (const { body } of variants) this.pinned.onRemoved(body)
  }

  /** Removes those variants that are meant; the resource with the last of them. */
  remove(key: string, matches: (variant: StoredResponse) => boolean): void {
    const resource = this.#resources.peek(key)
    if (resource === undefined) return
    const variants = resource.variants.filter((each) => !matches(each))
    if (variants.length === resource.variants.length) return
    for (const { body } of variants) this.pinned.onStored(body)
    this.#resources.delete(key)
    if (variants.length > 0) this.#set(key, { ...resource, variants })
  }

  /** Reserves room for an answer that is about to be fetched. It takes none until it {@link Reservation.grow}s. */
  reserve(partition: CachePartition, cacheKey: CacheKey): Reservation {
    const reservation = new Reservation(this, partition, cacheKey)
    this.#reservations.add(reservation)
    return reservation
  }

  /** Marks the reservations that are meant: what comes for them was asked for before it became invalid. */
  cancelReservations(matches: (reservation: Reservation) => boolean): void {
    for (const reservation of this.#reservations) if (matches(reservation)) reservation.isCancelled = true
  }

  /** Takes so many bytes out of the bound; false: there is no room, though everything stored made room. */
  reserveBytes(bytes: number): boolean {
    // Half of it stays for what is stored: who has many answers on their way, or reads none of them, does not push out all the others.
    if (this.#outside + bytes > this.#maxBytes / 2 || !this.#makeRoom(bytes)) return false
    this.#reservedBytes += bytes
    return true
  }

  /** Gives back what was taken, whatever the bound has become since. */
  releaseBytes(bytes: number): void {
    this.#reservedBytes -= bytes
  }

  /** Forgets a reservation. */
  removeReservation(reservation: Reservation): void {
    this.#reservations.delete(reservation)
  }

  #set(key: string, resource: Resource): void {
    const { partition, query, variants } = resource
    this.#resources.set(key, resource)
    partition.onStored(key, query, sizeOf({ variants }, key), variants.length)
  }

  #makeRoom(bytes: number): boolean {
    // What is still read gives no room when it is evicted, so there may be none in the end.
    while (bytes <= this.#maxBytes - this.#outside && this.bytes + bytes > this.#maxBytes) this.#resources.pop()
    return this.bytes + bytes <= this.#maxBytes
  }
}

/** Counts what a resource takes: its key, and of each variant the fields and the body. */
const sizeOf = ({ variants }: Pick<Resource, 'variants'>, key: string): number =>
  variants.reduce(
    (sum, { head, body }) => sum + head.bytes + body.bytes.length + variantBytes,
    // The query in the key is a copy of the one beside it, once it has been compared.
    resourceBytes + 2 * key.length,
  )

/** Is room for an answer that is on its way: what it takes until it is stored, or is not. */
export class Reservation {
  readonly partition: CachePartition
  readonly cacheKey: CacheKey
  /** Whether what it is for has become invalid since: what comes is not stored, and nobody who asks from now on may have it. */
  isCancelled = false
  readonly #store: CacheStore
  #bytes = 0

  constructor(store: CacheStore, partition: CachePartition, cacheKey: CacheKey) {
    this.#store = store
    this.partition = partition
    this.cacheKey = cacheKey
  }

  /** Takes more room; false: there is none. */
  grow(bytes: number): boolean {
    if (!this.#store.reserveBytes(bytes)) return false
    this.#bytes += bytes
    return true
  }

  /** Gives all of it back. */
  release(): void {
    this.#store.releaseBytes(this.#bytes)
    this.#bytes = 0
    this.#store.removeReservation(this)
  }
}
