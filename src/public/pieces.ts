import { joined } from '../shared/give-back.ts'

// Below this, what a piece costs by itself is more than what it holds.
const smallBytes = 1024
// A piece stands in the memory of the packet that it came in, with whatever else came in it.
const mostKept = 8
const blockBytes = 4 * 1024

/**
 * Is a queue of the pieces of a body, in memory not much larger than they are: a client may send it in pieces of a byte each, or each beside
 * much that is thrown away.
 */
export class Pieces {
  bytes = 0
  #list: Buffer[] = []
  #block: Buffer = nothing
  #used = 0
  /** Where in the block that begins which is not in the list yet. */
  #from = 0

  push(piece: Buffer): void {
    const isFirst = this.bytes === 0
    this.bytes += piece.length
    if (isFirst || (piece.length >= smallBytes && piece.length * mostKept >= piece.buffer.byteLength)) {
      this.#seal()
      this.#list.push(piece)
      return
    }
    if (this.#block.length - this.#used < piece.length) {
      this.#seal()
      this.#block = Buffer.allocUnsafeSlow(Math.max(blockBytes, piece.length))
      this.#used = 0
      this.#from = 0
    }
    this.#used += piece.copy(this.#block, this.#used)
  }

  /** Takes all of them as they are: nothing is copied once more. */
  takeAll(): Buffer[] {
    this.#seal()
    this.bytes = 0
    return this.#list.splice(0)
  }

  /** Takes whole pieces, in one: the first, and others while there are no more than so many bytes. */
  take(mostBytes: number): Buffer {
    this.#seal()
    let [count, bytes] = [0, 0]
    for (const { length } of this.#list) {
      if (count > 0 && bytes + length > mostBytes) break
      count++
      bytes += length
    }
    this.bytes -= bytes
    return joined(this.#list.splice(0, count))
  }

  clear(): void {
    this.#list = []
    this.#block = nothing
    this.bytes = this.#used = this.#from = 0
  }

  /** Lists what has been copied so far; the rest of the block is for others. */
  #seal(): void {
    if (this.#used > this.#from) this.#list.push(this.#block.subarray(this.#from, this.#used))
    this.#from = this.#used
  }
}

const nothing = Buffer.alloc(0)
