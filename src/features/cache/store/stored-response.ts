import { BytesBody } from '../../../core/exchange/bodies/response-bodies.ts'
import { sliceBytes } from '../../../core/lib/buffers.ts'
import type { OperationId } from '../../../operations.ts'
import type { StoredHead } from '../policy/stored-head.ts'

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

/** It is replaced, never changed. */
export interface StoredResponse {
  readonly head: StoredHead
  readonly body: StoredBody
}

/** A body, or a part of one, that stays in memory and is no small part of a larger piece of it. */
export class StoredBody extends BytesBody {
  /** In how many places it is stored, and how many clients it is being sent to: for `PinnedBytes` alone. */
  storedCount = 0
  pins = 0

  /** Creates the body of a partial response; it shares the memory. */
  slice(start: number, end: number): StoredBody {
    return new StoredBody(this.bytes.subarray(start, end))
  }
}

export const emptyStoredBody = new StoredBody(Buffer.alloc(0))

/** Copies bytes into memory of their own: a small slice of a read buffer would hold on to all of it. */
export const ownCopy = (bytes: Buffer): Buffer => {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

/**
 * Counts the memory of bodies that are still being sent but are no longer stored: a slow reader holds its body,
 * whatever has made room meanwhile. Bodies of up to 64 KiB are not counted.
 */
export class PinnedBytes {
  /** Bytes of bodies that are being sent and not stored. */
  bytes = 0

  onStored(body: StoredBody): void {
    if (body.storedCount++ === 0 && body.pins > 0) this.bytes -= body.bytes.length
  }

  onRemoved(body: StoredBody): void {
    if (--body.storedCount === 0 && body.pins > 0) this.bytes += body.bytes.length
  }

  /** Pins a body for one more reader; false: it is too short to be counted. */
  pin(body: StoredBody): boolean {
    // A client that does not read holds about that much of any response.
    if (body.bytes.length <= sliceBytes) return false
    if (body.pins++ === 0 && body.storedCount === 0) this.bytes += body.bytes.length
    return true
  }

  unpin(body: StoredBody): void {
    if (--body.pins === 0 && body.storedCount === 0) this.bytes -= body.bytes.length
  }
}
