import { LRUCache } from 'lru-cache'
import type { Exchange } from '../../core/exchange/exchange.ts'
import { copyText } from '../../core/lib/buffers.ts'
import { now } from '../../core/lib/clock.ts'
import type { OperationId } from '../../operations.ts'
import { isReasonOfRequest, type NotStoredReason } from './policy/storability.ts'
import type { CacheStore, CacheTally, Reservation, Resource } from './store/cache-store.ts'
import type { CacheKey, StoredBody, StoredResponse } from './store/stored-response.ts'

/** Stored responses of an operation and a side of its group, while its configuration and that upstream stay as is. */
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

  close(): void {
    this.#closed = true
    this.#store.dropPartition(this)
  }

  onChanged(by: 1 | -1, key: string, query: string, bytes: number, variants: number): void {
    this.bytes += by * bytes
    this.entries += by * variants
    const keys = this.#keysByQuery.get(query) ?? new Set()
    if (by === 1) this.#keysByQuery.set(query, keys.add(key))
    else if (keys.delete(key) && keys.size === 0) this.#keysByQuery.delete(query)
  }
}

// Short, because the next response may be storable; small, because a client may invent keys.
const hitForMissMs = 5_000
const maxHitForMissBytes = 256 * 1024

/** Keys whose responses could not be shared: nobody waits for another's. Varnish calls this hit-for-miss. */
class HitForMiss {
  readonly #entries = new LRUCache<string, { readonly why: NotStoredReason; readonly until: number }>({
    maxSize: maxHitForMissBytes,
    sizeCalculation: (_, key) => key.length + 128,
  })

  /** A reason in this client's credentials does not count: the next client may be another. */
  mark(key: string, why: NotStoredReason): void {
    if (!isReasonOfRequest(why)) this.#entries.set(copyText(key), { why, until: now() + hitForMissMs })
  }

  has(key: string): boolean {
    return this.reasonFor(key) !== null
  }

  /** Null: the last response could be shared, or came over 5 s ago. */
  reasonFor(key: string): NotStoredReason | null {
    const entry = this.#entries.size === 0 ? undefined : this.#entries.get(key)
    if (entry === undefined) return null
    if (now() < entry.until) return entry.why
    this.#entries.delete(key)
    return null
  }
}
