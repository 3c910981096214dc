import { allocLargeBuffer, freeBuffer, largeBufferBytes } from '../../lib/buffers.ts'

// A read is over, and its bytes are parsed and copied, before the next one begins, on whichever connection.
const sharedBuffer = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * The memory that one connection is read into: a buffer that all connections share, and a large one of its own while a
 * body comes fast. The large one is handed on with its bytes, which are not copied then.
 */
export class ReadBuffer {
  isPaused = false
  #large: Buffer | null = null
  #isFast = false
  #length = 0

  readonly next = (): Buffer => {
    if (this.#isFast && !this.isPaused) {
      this.#large ??= allocLargeBuffer()
      return this.#large
    }
    // A connection that waits, for its reader or for another request, keeps no memory.
    if (this.#large !== null) freeBuffer(this.#large)
    this.#large = null
    return sharedBuffer
  }

  /** Notes the length of a read: after one that filled the buffer, larger ones are used. */
  onRead(bytes: Buffer, length: number): void {
    this.#length = length
    this.#isFast = length === bytes.length || (this.#isFast && length > sharedBuffer.length)
  }

  /**
   * Takes a part of a body out of a read. The large buffer goes with the last part alone: who gets it may free it at
   * once, while the rest is still to be parsed.
   */
  slice(bytes: Buffer, from: number, to: number): Buffer {
    if (bytes === this.#large && to === this.#length && to - from >= largeBufferBytes / 2) {
      this.#large = null
      return bytes.subarray(from, to)
    }
    const chunk = Buffer.allocUnsafe(to - from)
    bytes.copy(chunk, 0, from, to)
    return chunk
  }
}
