import { maxUntakenEnds, maxWrites } from './connection-memory.ts'
import type { OnFlushed, Stream } from './stream.ts'

export interface UntakenWrite {
  readonly memory: Buffer
  readonly flushed: OnFlushed[]
  /** The streams that end in this write. */
  readonly ended: Stream[]
}

/** Writes that the system has not taken, oldest first. */
export class UntakenWrites {
  readonly #writes: UntakenWrite[] = []
  #ends = 0

  get isFull(): boolean {
    return this.#writes.length >= maxWrites || this.#ends >= maxUntakenEnds
  }

  push(write: UntakenWrite): void {
    this.#writes.push(write)
    this.#ends += write.ended.length
  }

  shift(): UntakenWrite | undefined {
    const write = this.#writes.shift()
    this.#ends -= write?.ended.length ?? 0
    return write
  }
}
