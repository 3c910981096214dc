import { createHash } from 'node:crypto'
import { wallClock } from '../../clock.ts'
import { type Key, type Link, seal, type Torn } from './chain.ts'
import { headLine, lostLine } from './line.ts'

/** Is a line that waits: what it says, which may depend on what it follows, and the key of those behind it where that is another. */
export interface Waiting {
  readonly says: string | ((before: Link, key: Key) => string)
  readonly after?: Key
  /** By how much it counts against what may wait. */
  readonly bytes: number
}

interface Piece {
  readonly waiting: Waiting
  /** What it follows, and the key that it is sealed with. */
  readonly before: Link
  readonly key: Key
  /** Where it ends in the bytes of the batch. */
  readonly end: number
}

const mostBytes = 256 * 1024

/** Is lines that are sealed and on their way to the target, in one write unless that takes fewer bytes. */
export class Batch {
  readonly bytes: Buffer
  /** How many of them the target has taken. */
  taken = 0
  /** What follows the last one. */
  readonly link: Link
  readonly key: Key
  readonly #pieces: readonly Piece[]

  /** Seals as many lines off the front of those that wait as a write takes, at least one. */
  constructor(link: Link, key: Key, waiting: Waiting[]) {
    const [pieces, lines]: [Piece[], Buffer[]] = [[], []]
    let end = 0
    let [before, current] = [link, key]
    let count = 0
    for (const each of waiting) {
      if (end >= mostBytes) break
      count++
      const sealed = seal(current, before, typeof each.says === 'string' ? each.says : each.says(before, current))
      const line = Buffer.from(sealed.line)
      end += line.length
      lines.push(line)
      pieces.push({ waiting: each, before, key: current, end })
      before = sealed.link
      current = each.after ?? current
    }
    waiting.splice(0, count)
    this.bytes = Buffer.concat(lines)
    this.link = before
    this.key = current
    this.#pieces = pieces
  }

  get lines(): number {
    return this.#pieces.length
  }

  get isWritten(): boolean {
    return this.taken === this.bytes.length
  }

  /** Counts what its lines count against what may wait. */
  get waitingBytes(): number {
    return this.#pieces.reduce((sum, { waiting }) => sum + waiting.bytes, 0)
  }

  /** Takes it apart where the target is given up in the midst of it: which lines are whole there, what of another, and which are not. */
  undone() {
    const first = this.#pieces.find(({ end }) => end > this.taken)
    if (first === undefined) return { link: this.link, key: this.key, waiting: [], torn: null }
    const at = this.#pieces.indexOf(first)
    const from = this.#pieces[at - 1]?.end ?? 0
    const { before: link, key } = first
    const waiting = this.#pieces.slice(at).map((piece) => piece.waiting)
    return { link, key, waiting, torn: from === this.taken ? null : this.bytes.subarray(from, this.taken) }
  }
}

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

/** Is what stands behind a whole line and is none: pieces of lines that a crash, a full disk or a change of files cut off. The next line tells of them. */
export class Remains {
  readonly #behind: number
  readonly #pieces: readonly Buffer[]

  /** `piece`: null, there is nothing. */
  constructor({ count }: Link, piece: Buffer | null, earlier: readonly Buffer[] = []) {
    this.#behind = count
    this.#pieces = piece === null ? earlier : [...earlier, piece]
  }

  /** Adds what is left behind a line: to what stood there already, or instead of what stood behind an earlier one. */
  with(link: Link, piece: Buffer | null): Remains {
    return new Remains(link, piece, link.count === this.#behind ? this.#pieces : [])
  }

  /** Says what the line that follows another one tells of them; null: nothing stands between the two. */
  after({ count }: Link): Torn | null {
    if (count !== this.#behind || this.#pieces.length === 0) return null
    return tornOf(Buffer.concat(this.#pieces.flatMap((piece, at) => (at === 0 ? [piece] : [lineEnd, piece]))))
  }
}

/** Tells of a piece of a line what a later line says of it. */
export const tornOf = (bytes: Buffer): Torn => ({
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
})

/** Makes the first line of a process or of a file, which tells of what remains before it when it is sealed. */
export const headOf = (event: 'start' | 'file', remains: () => Remains, more = {}): Waiting => ({
  says: (before, key) => headLine(wallClock(), event, before, key, remains().after(before), more),
  bytes: 0,
})

// Each piece is ended before anything is written behind it.
const lineEnd = Buffer.from('\n')
