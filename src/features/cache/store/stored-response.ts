import { BytesBody } from '../../../core/exchange/bodies/response-bodies.ts'
import { sliceBytes } from '../../../core/lib/buffers.ts'
import type { StoredHead } from '../policy/stored-head.ts'

/** `collapsed`: used the response of another exchange's fetch. */
export const zeroCacheOutcomes = { hit: 0, stale: 0, miss: 0, revalidated: 0, collapsed: 0, bypass: 0 }

export type CacheOutcome = keyof typeof zeroCacheOutcomes

export const cacheOutcomes = Object.keys(zeroCacheOutcomes) as readonly CacheOutcome[]

/** `rejected`: invalid, or another key's. `dropped`: not written, because too many writes waited or Redis failed. */
export const zeroRedisCacheCounts = { found: 0, rejected: 0, dropped: 0 }

/** Share of memory for responses that are arriving and pinned bodies; the rest is for stored responses. */
export const maxOutsideShare = 0.5

export interface CacheKey {
  /** Empty: any client. */
  readonly client: string
  /** Scheme, authority and everything else that upstreams get of the target: a response may repeat it. */
  readonly site: string
  /** Raw, with its `?`, or empty. */
  readonly query: string
}

/** Immutable. */
export interface StoredResponse {
  readonly head: StoredHead
  readonly body: StoredBody
}

/** Never a small slice of a large read buffer. */
export class StoredBody extends BytesBody {
  storedCount = 0 // resources that store it
  pins = 0 // clients that it is being sent to

  slice(start: number, end: number): StoredBody {
    return new StoredBody(this.bytes.subarray(start, end))
  }
}

export const emptyStoredBody = new StoredBody(Buffer.alloc(0))

/** A small slice of a read buffer would hold all of it. */
export const ownCopy = (bytes: Buffer): Buffer => {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

/** Counts bodies over 64 KiB that are being sent but no longer stored: a slow reader holds an evicted body. */
export class PinnedBytes {
  bytes = 0

  onStored(body: StoredBody): void {
    if (body.storedCount++ === 0 && body.pins > 0) this.bytes -= body.bytes.length
  }

  onRemoved(body: StoredBody): void {
    if (--body.storedCount === 0 && body.pins > 0) this.bytes += body.bytes.length
  }

  /** False: too short to count. */
  pin(body: StoredBody): boolean {
    // Any client that does not read holds this much.
    if (body.bytes.length <= sliceBytes) return false
    if (body.pins++ === 0 && body.storedCount === 0) this.bytes += body.bytes.length
    return true
  }

  unpin(body: StoredBody): void {
    if (--body.pins === 0 && body.storedCount === 0) this.bytes -= body.bytes.length
  }
}
