import { wallClock } from '../../clock.ts'
import type { Waiting } from './batch.ts'
import { lostLine } from './line.ts'

/** Is the lines that wait to be written, up to a bound, and the number of those that were lost because there was no room. */
export class Backlog {
  readonly lines: Waiting[] = []
  readonly #maxBytes: number
  #bytes = 0
  /** How many lines were lost that no line tells of yet. */
  #untold = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  hasRoomFor(says: string): boolean {
    return this.#bytes + says.length <= this.#maxBytes
  }

  add(waiting: Waiting): void {
    this.#bytes += waiting.bytes
    this.lines.push(waiting)
  }

  /** Puts lines in front of the others. `counted`: what still counts of those that were taken with them. */
  putBack(lines: readonly Waiting[], counted = 0): void {
    this.lines.unshift(...lines)
    this.#bytes += lines.reduce((sum, { bytes }) => sum + bytes, -counted)
  }

  /** Has lines count no longer: they are written. */
  forget(bytes: number): void {
    this.#bytes -= bytes
  }

  lose(lines: number): void {
    this.#untold += lines
  }

  /** Has a line tell of those that were lost, in their place; false: there are none. */
  tellLost(): boolean {
    const lines = this.#untold
    if (lines === 0) return false
    this.#untold = 0
    this.add({ says: () => lostLine(wallClock(), lines), bytes: 0 })
    return true
  }
}
