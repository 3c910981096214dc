import { LRUCache } from 'lru-cache'
import type { Exchange } from '../../core/exchange/exchange.ts'
import { copyText } from '../../core/lib/buffers.ts'
import { now } from '../../core/lib/clock.ts'
import type { OperationId } from '../../operations.ts'
import { isReasonOfRequest, type NotStoredReason } from './policy/storability.ts'
import type { CacheStore, CacheTally, Resource } from './store/cache-store.ts'
import type { CacheKey, Reservation, StoredBody, StoredResponse } from './store/stored-response.ts'

/**
 * Stored responses of an operation and a side of its group, while its configuration and that upstream stay the same.
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

  constructor(store: CacheStore, operation: OperationId) {
    this.#store = store
    this.operation = operation
    const { id, tally } = store.add(this)
    this.#id = id
    this.tally = tally
  }

  /** Client ids and queries hold no line break: keys never collide. */
  toStoreKey({ client, site, query }: CacheKey): string {
    return `${this.#id}\n${client}\n${site}\n${query}`
  }

  find(key: string): Resource | undefined {
    return this.#store.find(key)
  }

  /** Canceled when its key is purged or invalidated before the fetch ends. */
  reserve(cacheKey: CacheKey): Reservation {
    const reservation = this.#store.reserve(this, cacheKey)
    reservation.isCancelled = this.#closed
    return reservation
  }

  /** Takes the room reserved for the response; returns whether it is stored. */
  put(reservation: Reservation, variant: StoredResponse, replaces: (other: StoredResponse) => boolean): boolean {
    reservation.release()
    if (reservation.isCancelled) return false
    const { client, site, query } = reservation.cacheKey
    const cacheKey = { client, site: copyText(site), query: copyText(query) }
    return this.#store.put(this.toStoreKey(cacheKey), { partition: this, ...cacheKey }, variant, replaces)
  }

  /** Pins a body until the exchange has finished. */
  pin(exchange: Exchange, body: StoredBody): void {
    const { pinned } = this.#store
    if (pinned.pin(body)) exchange.onFinished(() => pinned.unpin(body))
  }

  remove(key: string, matches: (variant: StoredResponse) => boolean): void {
    this.#store.remove(key, matches)
  }

  /** Also cancels responses on their way (RFC 9111 §4.4); for all clients and all names of this gateway. */
  invalidate(query: string): void {
    this.#store.cancelReservations(({ partition, cacheKey }) => partition === this && cacheKey.query === query)
    for (const key of [...(this.#keysByQuery.get(query) ?? [])]) this.#store.remove(key, () => true)
  }

  /** Responses on their way are not stored. */
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

// Short, because the next response may be storable; small, because a client may invent keys.
const hitForMissMs = 5_000
const maxHitForMissBytes = 256 * 1024

/**
 * Remembers keys whose responses could not be shared: requests for them are forwarded at once, instead of waiting for
 * responses that each has to fetch for itself in the end. Varnish calls this hit-for-miss.
 */
class HitForMiss {
  readonly #entries = new LRUCache<string, { readonly why: NotStoredReason; readonly until: number }>({
    maxSize: maxHitForMissBytes,
    sizeCalculation: (_, key) => key.length + 128,
  })

  /** A reason in this client's credentials does not count: the next client may be another. */
  mark(key: string, why: NotStoredReason): void {
    if (isReasonOfRequest(why)) return
    this.#entries.set(copyText(key), { why, until: now() + hitForMissMs })
  }

  has(key: string): boolean {
    return this.reasonFor(key) !== null
  }

  /** Null: the last response could be shared, or came over 5 s ago. */
  reasonFor(key: string): NotStoredReason | null {
    if (this.#entries.size === 0) return null
    const entry = this.#entries.get(key)
    if (entry === undefined) return null
    if (now() < entry.until) return entry.why
    this.#entries.delete(key)
    return null
  }
}
