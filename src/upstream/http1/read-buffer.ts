import { allocLargeBuffer, freeBuffer, largeBufferBytes } from '../../shared/buffers.ts'

// A read is over, and what it brought is parsed and copied, before the next one begins, on whichever connection.
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * The memory that one connection is read into: what all connections share, and large memory of its own while a body comes fast. That goes along
 * with what it brought, which is not copied then.
 */
export class ReadBuffer {
  /** Whether nothing is to be read for now. */
  isPaused = false
  #large: Buffer | null = null
  #isFast = false

  /** The memory for the next read. */
  readonly next = (): Buffer => {
    if (this.#isFast && !this.isPaused) {
      this.#large ??= allocLargeBuffer()
      return this.#large
    }
    // A connection that waits, for its reader or for another request, keeps none.
    if (this.#large !== null) freeBuffer(this.#large)
    this.#large = null
    return sharedBuffer
  }

  /** Notes how much a read has brought: one that was not large enough is followed by larger ones. */
  onRead(bytes: Buffer, length: number): void {
    this.#isFast = length === bytes.length || (this.#isFast && length > sharedBuffer.length)
  }

  /** Takes a piece of a body out of what was read. */
  slice(bytes: Buffer, from: number, to: number): Buffer {
    if (bytes === this.#large && to - from >= largeBufferBytes / 2) {
      this.#large = null
      return bytes.subarray(from, to)
    }
    const chunk = Buffer.allocUnsafe(to - from)
    bytes.copy(chunk, 0, from, to)
    return chunk
  }
}
