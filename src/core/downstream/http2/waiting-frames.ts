import { noBytes } from '../../lib/buffers.ts'

// Kept for the next frames.
const minBytes = 256

export class WaitingFrames {
  length = 0
  #memory: Buffer = noBytes

  push(frame: Buffer): void {
    const length = this.length + frame.length
    if (length > this.#memory.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(2 * length, minBytes))
      this.#memory.copy(larger, 0, 0, this.length)
      this.#memory = larger
    }
    this.length += frame.copy(this.#memory, this.length)
  }

  /** Returns how many bytes there were. */
  moveTo(out: Buffer): number {
    const bytes = this.#memory.copy(out, 0, 0, this.length)
    if (this.#memory.length > minBytes) this.#memory = noBytes
    this.length = 0
    return bytes
  }
}
