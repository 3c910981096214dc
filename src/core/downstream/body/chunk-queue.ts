import { concatAndFree, isExclusive, noBytes, sliceBytes, takeExclusively } from '../../lib/buffers.ts'

const minBlockBytes = 4 * 1024
// A client may announce a long body and send little, so blocks are small at first. For TLS records of an upload, a
// block has 64 KiB.
const blockFactor = 8

/** Holds chunks in little more memory than their bytes: a client may send chunks of one byte. */
export class ChunkQueue {
  bytes = 0
  /** The bytes of the announced body for which no block is allocated yet. */
  #expected: number
  #chunks: Buffer[] = []
  #block: Buffer = noBytes
  #blockEnd = 0
  /** Where the bytes begin that `#chunks` does not have yet. */
  #blockStart = 0

  constructor(length: number | null = null) {
    this.#expected = length ?? Number.POSITIVE_INFINITY
  }

  push(chunk: Buffer): void {
    this.bytes += chunk.length
    if (isExclusive(chunk)) {
      this.#sealBlock()
      this.#chunks.push(chunk)
      return
    }
    for (let at = 0; at < chunk.length; ) {
      if (this.#blockEnd === this.#block.length) this.#startBlock(chunk.length - at)
      const length = chunk.copy(this.#block, this.#blockEnd, at)
      at += length
      this.#blockEnd += length
    }
  }

  takeAll(): Buffer[] {
    this.#sealBlock()
    this.bytes = 0
    return this.#chunks.splice(0)
  }

  /** Takes the first chunk, joined with more whole chunks up to `maxBytes`. */
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

  #startBlock(bytes: number): void {
    this.#sealBlock()
    const wanted = Math.min(this.#expected, Math.max(minBlockBytes, bytes * blockFactor))
    const size = Math.min(sliceBytes, Math.max(bytes, wanted))
    this.#expected -= size
    // A small slice of Node's pool would keep the pool's whole 64 KiB in memory.
    this.#block = wanted < minBlockBytes ? Buffer.allocUnsafe(size) : Buffer.allocUnsafeSlow(size)
    this.#blockEnd = 0
    this.#blockStart = 0
  }

  #sealBlock(): void {
    const [block, from, to] = [this.#block, this.#blockStart, this.#blockEnd]
    this.#blockStart = to
    if (from === to) return
    const isWhole = to - from === block.buffer.byteLength
    this.#chunks.push(isWhole ? takeExclusively(block, 0) : block.subarray(from, to))
  }
}
