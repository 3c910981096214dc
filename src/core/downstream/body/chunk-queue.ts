import { concatAndFree, noBytes } from '../../lib/buffers.ts'

// A smaller chunk has more overhead than content.
const smallChunkBytes = 1024
// A chunk keeps the memory of the whole packet that carried it.
const maxOverheadFactor = 2
const blockBytes = 4 * 1024

/** Takes little more memory than the body: a client may send chunks of one byte, or with much overhead. */
export class ChunkQueue {
  bytes = 0
  #chunks: Buffer[] = []
  #block: Buffer = noBytes
  #blockEnd = 0
  /** Where the bytes begin that are not in `#chunks` yet. */
  #blockStart = 0

  push(chunk: Buffer): void {
    const isFirst = this.bytes === 0
    this.bytes += chunk.length
    const packetBytes = chunk.buffer.byteLength
    const keepsLittle = packetBytes <= chunk.length * maxOverheadFactor || (isFirst && packetBytes <= blockBytes)
    if (keepsLittle && (isFirst || chunk.length >= smallChunkBytes)) {
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

  takeAll(): Buffer[] {
    this.#sealBlock()
    this.bytes = 0
    return this.#chunks.splice(0)
  }

  /** Takes the first chunk, and more whole chunks up to `maxBytes`, joined. */
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
    this.#block = noBytes
    this.bytes = this.#blockEnd = this.#blockStart = 0
  }

  #sealBlock(): void {
    if (this.#blockEnd > this.#blockStart) this.#chunks.push(this.#block.subarray(this.#blockStart, this.#blockEnd))
    this.#blockStart = this.#blockEnd
  }
}
