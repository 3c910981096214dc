import type { OperationId } from '../../../operations.ts'

/**
 * The share of a cache's memory that responses on their way and pinned bodies may take. The rest stays for what is
 * stored: a client with many responses on their way, or that reads none of them, does not push out all the others.
 */
export const maxOutsideShare = 0.5

export interface CacheKey {
  /** The id of the client it belongs to; empty: any client. */
  readonly client: string
  /** Scheme and authority of the request, with what upstreams are told of them: a response may repeat them. */
  readonly site: string
  /** The raw query with its `?`, or empty. */
  readonly query: string
}

/** What a reservation takes its room from. */
interface RoomForBytes {
  /** Reserves bytes; false: there is no room. */
  reserveBytes(bytes: number): boolean
  releaseBytes(bytes: number): void
  removeReservation(reservation: Reservation): void
}

/** Room for a response on its way, until it is stored or not. */
export class Reservation {
  readonly partition: { readonly operation: OperationId }
  readonly cacheKey: CacheKey
  /** Whether its key has become invalid since: the response is not stored, and no later request may have it. */
  isCancelled = false
  readonly #store: RoomForBytes
  #bytes = 0

  constructor(store: RoomForBytes, partition: Reservation['partition'], cacheKey: CacheKey) {
    this.#store = store
    this.partition = partition
    this.cacheKey = cacheKey
  }

  grow(bytes: number): boolean {
    if (!this.#store.reserveBytes(bytes)) return false
    this.#bytes += bytes
    return true
  }

  /** Moves its room to a reservation of its own: what is no longer to be stored may still be held in memory. */
  split(): Reservation {
    const held = new Reservation(this.#store, this.partition, this.cacheKey)
    held.#bytes = this.#bytes
    this.#bytes = 0
    return held
  }

  shrinkTo(bytes: number): void {
    if (bytes >= this.#bytes) return
    this.#store.releaseBytes(this.#bytes - bytes)
    this.#bytes = bytes
  }

  release(): void {
    this.shrinkTo(0)
    this.#store.removeReservation(this)
  }
}
