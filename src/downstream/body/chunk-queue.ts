import { concatAndFree } from '../../shared/buffers.ts'

// Below this, what a piece costs by itself is more than what it holds.
const smallChunkBytes = 1024
// A piece stands in the memory of the packet that it came in, with whatever else came in it.
const maxOverheadFactor = 8
const blockBytes = 4 * 1024

/**
 * Is a queue of the pieces of a body, in memory not much larger than they are: a client may send it in pieces of a byte each, or each beside
 * much that is thrown away.
 */
export class ChunkQueue {
  bytes = 0
  #chunks: Buffer[] = []
  #block: Buffer = emptyBuffer
  #blockEnd = 0
  /** Where in the block that begins which is not in the list yet. */
  #blockStart = 0

  push(chunk: Buffer): void {
    const isFirst = this.bytes === 0
    this.bytes += chunk.length
    if (isFirst || (chunk.length >= smallChunkBytes && chunk.length * maxOverheadFactor >= chunk.buffer.byteLength)) {
      this.#sealBlock()
      this.#chunks.push(chunk)
      return
    }
    if (this.#block.length - this.#blockEnd < chunk.length) {
      this.#sealBlock()
      this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, chunk.length))
      this.#blockEnd = 0
      this.#blockStart = 0
    }
    this.#blockEnd += chunk.copy(this.#block, this.#blockEnd)
  }

  /** Takes all of them as they are: nothing is copied once more. */
  takeAll(): Buffer[] {
    this.#sealBlock()
    this.bytes = 0
    return this.#chunks.splice(0)
  }

  /** Takes whole pieces, in one: the first, and others while there are no more than so many bytes. */
  take(maxBytes: number): Buffer {
    this.#sealBlock()
    let [count, bytes] = [0, 0]
    for (const { length } of this.#chunks) {
      if (count > 0 && bytes + length > maxBytes) break
      count++
      bytes += length
    }
    this.bytes -= bytes
    return concatAndFree(this.#chunks.splice(0, count))
  }

  clear(): void {
    this.#chunks = []
    this.#block = emptyBuffer
    this.bytes = this.#blockEnd = this.#blockStart = 0
  }

  /** Lists what has been copied so far; the rest of the block is for others. */
  #sealBlock(): void {
    if (this.#blockEnd > this.#blockStart) this.#chunks.push(this.#block.subarray(this.#blockStart, this.#blockEnd))
    this.#blockStart = this.#blockEnd
  }
}

const emptyBuffer = Buffer.alloc(0)
