import { createHash } from 'node:crypto'
import { couldStartWith, type TornLine } from './chain.ts'

/** A position in the files that are verified. */
export interface AuditLinePosition {
  readonly file: string
  readonly line: number
}

/** Bytes after a line of an audit log that form no line: what a crash has left, or what is just being written. */
export class TornPieces {
  /** Where they begin. */
  readonly place: AuditLinePosition
  readonly #first: Buffer
  readonly #hash = createHash('sha256')
  #bytes = -1
  #count = 0
  #isEnded = false

  constructor(place: AuditLinePosition, first: Buffer) {
    this.place = place
    this.#first = first
  }

  /** Adds a piece, given without its end; `isEnded`: it has one. */
  add(bytes: Buffer, isEnded: boolean): void {
    if (this.#count > 0) this.#hash.update('\n')
    this.#hash.update(bytes)
    this.#bytes += bytes.length + 1
    this.#count++
    this.#isEnded = isEnded
  }

  /** Checks whether they can be the beginning of the line that is due. A whole line among them had its end edited. */
  mayBegin(due: string): boolean {
    if (this.#isEnded || this.#count > 1 || /,"mac":"[0-9a-f]{64}"/.test(this.#first.toString('latin1'))) return false
    return couldStartWith(this.#first, due)
  }

  /** Returns them as the next line reports them. Only once: it ends the hash. */
  toTornLine(): TornLine {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }
}
