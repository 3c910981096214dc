import { createHash, type Hash } from 'node:crypto'
import { couldStartWith, type TornLine } from './chain.ts'

export interface AuditLinePosition {
  readonly file: string
  readonly line: number
}

/** Torn pieces that one line may report together. */
export class PieceDigest {
  readonly place: AuditLinePosition
  readonly #hash: Hash
  #bytes: number

  constructor(place: AuditLinePosition, hash = createHash('sha256'), bytes = -1) {
    this.place = place
    this.#hash = hash
    this.#bytes = bytes
  }

  /** Adds a piece: each is ended before anything is written after it. */
  add(bytes: Buffer): void {
    if (this.#bytes >= 0) this.#hash.update('\n')
    this.#hash.update(bytes)
    this.#bytes += bytes.length + 1
  }

  copy(): PieceDigest {
    return new PieceDigest(this.place, this.#hash.copy(), this.#bytes)
  }

  /** Returns them as the next line reports them. Only once: it ends the hash. */
  toTornLine(): TornLine {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }
}

/**
 * Bytes of one file that form no line: what a crash has left, or what is just being written. Others may stand at the
 * end of the files before it.
 */
export class TornPieces {
  /** Those at the end of the files before this one; null: none. */
  readonly earlier: TornPieces | null
  /** These alone. */
  readonly own: PieceDigest
  /** With the earlier ones. */
  readonly joined: PieceDigest
  readonly #first: Buffer
  #count = 0
  #isEnded = false

  constructor(place: AuditLinePosition, first: Buffer, earlier: TornPieces | null) {
    this.earlier = earlier
    this.own = new PieceDigest(place)
    this.joined = earlier?.joined.copy() ?? new PieceDigest(place)
    this.#first = first
  }

  /** Adds a piece, given without its end; `isEnded`: it has one. */
  add(bytes: Buffer, isEnded: boolean): void {
    this.own.add(bytes)
    this.joined.add(bytes)
    this.#count++
    this.#isEnded = isEnded
  }

  /** Checks whether all can be the beginning of the line that is due. A whole line among them had its end edited. */
  mayBegin(due: string): boolean {
    if (this.earlier !== null || this.#isEnded || this.#count > 1) return false
    return !/,"mac":"[0-9a-f]{64}"/.test(this.#first.toString('latin1')) && couldStartWith(this.#first, due)
  }
}
