import type { BodySink, ResponseBody } from '../../exchange.ts'
import type { StoredHead } from './policy/stored-head.ts'

/** Is an answer as it is stored. What is stored is never changed, but replaced. */
export interface StoredResponse {
  readonly head: StoredHead
  readonly body: StoredBody
}

/** Is a body, or a part of one, that stays in memory: any number of answers may be made of it, at the same time too. */
export class StoredBody implements ResponseBody {
  readonly isShared = true
  readonly bytes: Buffer
  /** In how many places it is stored, and how often it is on its way to clients: for {@link Lending} alone. */
  storedCount = 0
  pins = 0

  /** Takes bytes that nothing else will write to or free, and that are not a small part of a larger piece of memory. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  takeBuffered(): Buffer {
    return this.bytes
  }

  consume(sink: BodySink): void {
    if (this.bytes.length > 0) sink.data(this.bytes)
    sink.end()
  }

  resume(): void {}

  discard(): void {}

  /** Makes the body of a partial answer; it shares the memory. */
  slice(start: number, end: number): StoredBody {
    return new StoredBody(this.bytes.subarray(start, end))
  }
}

/** Is no body at all: that of a 304. */
export const emptyStoredBody = new StoredBody(Buffer.alloc(0))

/** Copies bytes into memory of their own: a small piece of what was read would hold on to all that was read with it. */
export const ownCopy = (bytes: Buffer): Buffer => {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
