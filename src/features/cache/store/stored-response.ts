import { BytesBody } from '../../../core/exchange/bodies/bytes-body.ts'
import type { StoredHead } from '../policy/stored-head.ts'

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
