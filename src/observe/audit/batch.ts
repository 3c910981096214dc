import { type Key, type Link, seal } from './chain.ts'

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
  undone(): {
    readonly link: Link
    readonly key: Key
    readonly waiting: readonly Waiting[]
    readonly torn: Buffer | null
  } {
    const first = this.#pieces.find(({ end }) => end > this.taken)
    if (first === undefined) return { link: this.link, key: this.key, waiting: [], torn: null }
    const at = this.#pieces.indexOf(first)
    const from = this.#pieces[at - 1]?.end ?? 0
    const { before: link, key } = first
    const waiting = this.#pieces.slice(at).map((piece) => piece.waiting)
    return { link, key, waiting, torn: from === this.taken ? null : this.bytes.subarray(from, this.taken) }
  }
}
