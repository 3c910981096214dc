import type { Exchange } from '../../core/exchange/exchange.ts'
import { copyText } from '../../core/lib/buffers.ts'
import type { OperationId } from '../../operations.ts'
import { createHitForMiss } from './collapsing.ts'
import type { CacheStore, Reservation, Resource } from './store/cache-store.ts'
import type { CacheKey, StoredBody, StoredResponse } from './store/stored-response.ts'

export type CachePartition = ReturnType<typeof createCachePartition>

/** Stored responses of an operation and a side, as long as its configuration and that upstream stay unchanged. */
export const createCachePartition = (store: CacheStore, operation: OperationId) => {
  const keysByQuery = new Map<string, Set<string>>()
  let isClosed = false
  const partition = {
    operation,
    hitForMiss: createHitForMiss(),
    bytes: 0,
    entries: 0,
    /** Client ids and queries have no line break, so keys never collide. */
    toStoreKey: ({ client, site, query }: CacheKey): string => `${id}\n${client}\n${site}\n${query}`,
    find: (key: string): Resource | undefined => store.find(key),
    /** Canceled when its key is purged or invalidated during the fetch. */
    reserve(cacheKey: CacheKey): Reservation {
      const reservation = store.reserve(partition, cacheKey)
      reservation.isCanceled = isClosed
      return reservation
    },
    /** Uses the reservation's room; returns whether the response is stored. */
    put(reservation: Reservation, variant: StoredResponse, replaces: (other: StoredResponse) => boolean): boolean {
      reservation.release()
      if (reservation.isCanceled) return false
      const { client, site, query } = reservation.cacheKey
      const cacheKey = { client, site: copyText(site), query: copyText(query) }
      return store.put(partition.toStoreKey(cacheKey), { partition, ...cacheKey }, variant, replaces)
    },
    /** Until the exchange has finished. */
    pin(exchange: Exchange, body: StoredBody): void {
      if (store.pinned.pin(body)) exchange.onFinished(() => store.pinned.unpin(body))
    },
    remove: (key: string, matches: (variant: StoredResponse) => boolean): void => store.remove(key, matches),
    /** For all clients and names of this gateway; also cancels arriving responses (RFC 9111 §4.4). */
    invalidate(query: string): void {
      store.cancelReservations((each) => each.partition === partition && each.cacheKey.query === query)
      for (const key of [...(keysByQuery.get(query) ?? [])]) store.remove(key, () => true)
    },
    close(): void {
      isClosed = true
      store.dropPartition(partition)
    },
    onChanged(by: 1 | -1, key: string, query: string, bytes: number, variants: number): void {
      partition.bytes += by * bytes
      partition.entries += by * variants
      const keys = keysByQuery.get(query) ?? new Set()
      if (by === 1) keysByQuery.set(query, keys.add(key))
      else if (keys.delete(key) && keys.size === 0) keysByQuery.delete(query)
    },
  }
  const { id, tally } = store.add(partition)
  return Object.assign(partition, { tally })
}
