import { LRUCache } from 'lru-cache'
import type { Exchange } from '../../core/exchange/exchange.ts'
import { copyText } from '../../core/lib/buffers.ts'
import { now } from '../../core/lib/clock.ts'
import type { OperationId } from '../../operations.ts'
import { isReasonOfRequest, type NotStoredReason } from './policy/storability.ts'
import type { CacheStore, CacheTally, Resource } from './store/cache-store.ts'
import type { CacheKey, Reservation, StoredBody, StoredResponse } from './store/stored-response.ts'

/**
 * The stored responses of one operation and one side of its group, as long as its configuration and that upstream stay
 * as they are.
 */
export class CachePartition {
  readonly operation: OperationId
  readonly hitForMiss = new HitForMiss()
  readonly tally: CacheTally
  bytes = 0
  entries = 0
  readonly #store: CacheStore
  readonly #id: string
  readonly #keysByQuery = new Map<string, Set<string>>()
  #closed = false

  /** It is empty, whatever was stored for that operation before or is elsewhere. */
  constructor(store: CacheStore, operation: OperationId) {
    this.#store = store
    this.operation = operation
    const { id, tally } = store.add(this)
    this.#id = id
    this.tally = tally
  }

  /** No client id and no query holds a line break, so no two keys collide. */
  toStoreKey({ client, site, query }: CacheKey): string {
    return `${this.#id}\n${client}\n${site}\n${query}`
  }

  find(key: string): Resource | undefined {
    return this.#store.find(key)
  }

  /** Reserves room for a fetch that begins: what is purged or invalidated until it ends, it does not store. */
  reserve(cacheKey: CacheKey): Reservation {
    const reservation = this.#store.reserve(this, cacheKey)
    reservation.isCancelled = this.#closed
    return reservation
  }

  /**
   * Stores a response in place of the variants that it replaces; returns whether it is stored. The room that was
   * reserved for it becomes its own.
   */
  put(reservation: Reservation, variant: StoredResponse, replaces: (other: StoredResponse) => boolean): boolean {
    reservation.release()
    if (reservation.isCancelled) return false
    const { client, site, query } = reservation.cacheKey
    const cacheKey = { client, site: copyText(site), query: copyText(query) }
    return this.#store.put(this.toStoreKey(cacheKey), { partition: this, ...cacheKey }, variant, replaces)
  }

  /** Pins a body until the client of an exchange has taken it, or never will. */
  pin(exchange: Exchange, body: StoredBody): void {
    const { pinned } = this.#store
    if (pinned.pin(body)) exchange.onFinished(() => pinned.unpin(body))
  }

  remove(key: string, matches: (variant: StoredResponse) => boolean): void {
    this.#store.remove(key, matches)
  }

  /**
   * Removes what is stored for a query, and what is on its way for it (RFC 9111 §4.4): of all clients, and of all names
   * of this gateway.
   */
  invalidate(query: string): void {
    this.#store.cancelReservations(({ partition, cacheKey }) => partition === this && cacheKey.query === query)
    for (const key of [...(this.#keysByQuery.get(query) ?? [])]) this.#store.remove(key, () => true)
  }

  /** Removes all that it has; responses still on their way to it are not stored. */
  close(): void {
    this.#closed = true
    this.#store.cancelReservations((reservation) => reservation.partition === this)
    this.#store.dropPartition(this)
  }

  onStored(key: string, query: string, bytes: number, variants: number): void {
    this.bytes += bytes
    this.entries += variants
    const keys = this.#keysByQuery.get(query)
    if (keys === undefined) this.#keysByQuery.set(query, new Set([key]))
    else keys.add(key)
  }

  onRemoved(key: string, query: string, bytes: number, variants: number): void {
    this.bytes -= bytes
    this.entries -= variants
    const keys = this.#keysByQuery.get(query)
    if (keys?.delete(key) === true && keys.size === 0) this.#keysByQuery.delete(query)
  }
}

// Short, because the next response may be one that can be stored; and little memory, because a client may invent keys.
const hitForMissMs = 5_000
const maxHitForMissBytes = 256 * 1024

/**
 * Remembers keys whose responses could not be shared: requests for them then wait for no other and are forwarded as
 * they came. Otherwise they would wait in groups for a response that each has to fetch for itself in the end. Varnish
 * calls this hit-for-miss.
 */
class HitForMiss {
  readonly #entries = new LRUCache<string, { readonly why: NotStoredReason; readonly until: number }>({
    maxSize: maxHitForMissBytes,
    sizeCalculation: (_, key) => key.length + 128,
  })

  /**
   * Marks a key, unless only the client's own credentials kept the response from being shared: the next client is
   * likely to be another.
   */
  mark(key: string, why: NotStoredReason): void {
    if (isReasonOfRequest(why)) return
    this.#entries.set(copyText(key), { why, until: now() + hitForMissMs })
  }

  has(key: string): boolean {
    return this.reasonFor(key) !== null
  }

  /** Returns why the last response under a key could not be shared; null: it could, or that is too long ago. */
  reasonFor(key: string): NotStoredReason | null {
    if (this.#entries.size === 0) return null
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    if (now() < entry.until) return entry.why
    this.#entries.delete(key)
    return null
  }
}
