import { BytesBody } from '../../../core/exchange/bodies/response-bodies.ts'
import { sliceBytes } from '../../../core/lib/buffers.ts'
import type { StoredHead } from '../policy/stored-head.ts'

/** `collapsed`: got the response of another exchange's fetch. */
export const zeroCacheOutcomes = { hit: 0, stale: 0, miss: 0, revalidated: 0, collapsed: 0, bypass: 0 }

export type CacheOutcome = keyof typeof zeroCacheOutcomes

export const cacheOutcomes = Object.keys(zeroCacheOutcomes) as readonly CacheOutcome[]

/** `rejected`: invalid, or of another key. `dropped`: not written, as too many were waiting or Redis failed. */
export const zeroRedisCacheCounts = { found: 0, rejected: 0, dropped: 0 }

/** The share of memory for responses on their way and pinned bodies: the rest is left to stored responses. */
export const maxOutsideShare = 0.5

export interface CacheKey {
  /** Empty: any client. */
  readonly client: string
  /** Scheme, authority and whatever else upstreams get of the target: a response may repeat it. */
  readonly site: string
  /** Raw, with its `?`, or empty. */
  readonly query: string
}

/** Replaced, never changed. */
export interface StoredResponse {
  readonly head: StoredHead
  readonly body: StoredBody
}

/** A whole or partial body, never a small slice of a large read buffer. */
export class StoredBody extends BytesBody {
  storedCount = 0 // places that store it, for `PinnedBytes`
  pins = 0 // clients that it is sent to

  /** Shares the memory. */
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

/** Memory of bodies over 64 KiB that are being sent but no longer stored: a slow reader holds an evicted body. */
export class PinnedBytes {
  bytes = 0

  onStored(body: StoredBody): void {
    if (body.storedCount++ === 0 && body.pins > 0) this.bytes -= body.bytes.length
  }

  onRemoved(body: StoredBody): void {
    if (--body.storedCount === 0 && body.pins > 0) this.bytes += body.bytes.length
  }

  /** False: too short to be counted. */
  pin(body: StoredBody): boolean {
    // A client that does not read holds this much of any response.
    if (body.bytes.length <= sliceBytes) return false
    if (body.pins++ === 0 && body.storedCount === 0) this.bytes += body.bytes.length
    return true
  }

  unpin(body: StoredBody): void {
    if (--body.pins === 0 && body.storedCount === 0) this.bytes -= body.bytes.length
  }
}
