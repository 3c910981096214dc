import { LRUCache } from 'lru-cache'
import { now } from '../../clock.ts'
import { type CacheOutcome, type Exchange, zeroCacheOutcomes } from '../../exchange.ts'
import type { OperationId } from '../../operations.ts'
import type { CacheKey, CacheStore, Reservation, Resource } from './cache-store.ts'
import type { NotStoredReason } from './policy/storability.ts'
import type { StoredBody, StoredResponse } from './stored-response.ts'

/** Is what is stored of one operation, as long as its configuration and its upstream stay as they are. */
export class CachePartition {
  readonly operation: OperationId
  readonly hitForMiss = new HitForMiss()
  /** How many exchanges went which way. */
  readonly counts: Record<CacheOutcome, number> = { ...zeroCacheOutcomes }
  /** Bytes of what is stored. */
  bytes = 0
  /** How many answers are stored. */
  entries = 0
  readonly #store: CacheStore
  readonly #id: string
  /** The keys of each query. */
  readonly #keysByQuery = new Map<string, Set<string>>()
  #closed = false

  /** `id` is no other part's. */
  constructor(store: CacheStore, operation: OperationId, id: string) {
    this.#store = store
    this.operation = operation
    this.#id = id
  }

  /** Makes the key of a resource. No client's id and no query holds a line break, so no two are the same. */
  toStoreKey({ client, site, query }: CacheKey): string {
    return `${this.#id}\n${client}\n${site}\n${query}`
  }

  find(key: string): Resource | undefined {
    return this.#store.find(key)
  }

  /** Notes that a fetch begins: what is cleared or invalidated until it ends, it does not store. */
  reserve(name: CacheKey): Reservation {
    const reservation = this.#store.reserve(this, name)
    reservation.isCancelled = this.#closed
    return reservation
  }

  /** Stores what has come, in place of the variants that it replaces. The room that was reserved for it becomes its own. */
  put(reservation: Reservation, variant: StoredResponse, replaces: (other: StoredResponse) => boolean): void {
    reservation.release()
    if (reservation.isCancelled) return
    const { cacheKey: name } = reservation
    this.#store.put(this.toStoreKey(name), { partition: this, ...name }, variant, replaces)
  }

  /** Counts a body until the client of an exchange that is answered with it has taken it, or never will. */
  pin(exchange: Exchange, body: StoredBody): void {
    const { pinned } = this.#store
    if (pinned.pin(body)) exchange.onFinished(() => pinned.unpin(body))
  }

  /** Removes those variants that are meant. */
  remove(key: string, matches: (variant: StoredResponse) => boolean): void {
    this.#store.remove(key, matches)
  }

  /** Removes what is stored for a query, and what is on its way for it (RFC 9111 §4.4): of all clients, and of all names of this gateway. */
  invalidate(query: string): void {
    this.#store.cancelReservations(
      (reservation) => reservation.partition === this && reservation.cacheKey.query === query,
    )
    for (const key of [...(this.#keysByQuery.get(query) ?? [])]) this.#store.remove(key, () => true)
  }

  /** Removes all that it has; what is still on its way for it is not stored. */
  close(): void {
    this.#closed = true
    this.#store.cancelReservations((reservation) => reservation.partition === this)
    this.#store.dropPartition(this)
  }

  /** Is told by the store what has come under a key. */
  onStored(key: string, query: string, bytes: number, variants: number): void {
    this.bytes += bytes
    this.entries += variants
    const keys = this.#keysByQuery.get(query)
    if (keys === undefined) this.#keysByQuery.set(query, new Set([key]))
    else keys.add(key)
  }

  /** Is told by the store what has left. */
  onRemoved(key: string, query: string, bytes: number, variants: number): void {
    this.bytes -= bytes
    this.entries -= variants
    const keys = this.#keysByQuery.get(query)
    if (keys?.delete(key) === true && keys.size === 0) this.#keysByQuery.delete(query)
  }
}

// Short, because the next answer may be one that can be stored; and little memory, because who asks may invent keys.
const hitForMissMs = 5_000
const maxHitForMissBytes = 256 * 1024

interface HitForMissEntry {
  readonly why: NotStoredReason
  readonly until: number
}

/**
 * Remembers keys whose answers could not be shared: while it does, requests for them wait for nobody and are forwarded as they came. Otherwise
 * they would wait in groups for an answer that each has to fetch for itself in the end.
 */
class HitForMiss {
  readonly #entries = new LRUCache<string, HitForMissEntry>({
    maxSize: maxHitForMissBytes,
    sizeCalculation: (_, key) => key.length + 128,
  })

  /** Notes a key, unless it was for what only one client sent that its answer could not be shared: the next is likely to be another. */
  mark(key: string, reason: NotStoredReason): void {
    if (reason === 'authorization' || reason === 'credentials') return
    this.#entries.set(key, { why: reason, until: now() + hitForMissMs })
  }

  has(key: string): boolean {
    return this.reasonFor(key) !== null
  }

  /** Says why the last answer under a key could not be shared; null: it could, or that is too long ago. */
  reasonFor(key: string): NotStoredReason | null {
    if (this.#entries.size === 0) return null
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    if (now() < entry.until) return entry.why
    this.#entries.delete(key)
    return null
  }
}
