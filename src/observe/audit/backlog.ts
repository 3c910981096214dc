import { createHash } from 'node:crypto'
import { epochMs } from '../../clock.ts'
import { headLine, lostLine } from './audit-line.ts'
import { type AuditKey, type ChainPosition, seal, type TornLine } from './chain.ts'

/** Is a line that waits: what it says, which may depend on what it follows, and the key of those behind it where that is another. */
export interface PendingLine {
  readonly content: string | ((before: ChainPosition, key: AuditKey) => string)
  readonly nextKey?: AuditKey
  /** By how much it counts against what may wait. */
  readonly bytes: number
}

interface BatchEntry {
  readonly waiting: PendingLine
  /** What it follows, and the key that it is sealed with. */
  readonly before: ChainPosition
  readonly key: AuditKey
  /** Where it ends in the bytes of the batch. */
  readonly end: number
}

const maxBatchBytes = 256 * 1024

/** Is lines that are sealed and on their way to the target, in one write unless that takes fewer bytes. */
export class SealedBatch {
  readonly bytes: Buffer
  /** How many of them the target has taken. */
  writtenBytes = 0
  /** What follows the last one. */
  readonly link: ChainPosition
  readonly key: AuditKey
  readonly #entries: readonly BatchEntry[]

  /** Seals as many lines off the front of those that wait as a write takes, at least one. */
  constructor(link: ChainPosition, key: AuditKey, waiting: PendingLine[]) {
    const [entries, lines]: [BatchEntry[], Buffer[]] = [[], []]
    let end = 0
    let [before, current] = [link, key]
    let count = 0
    for (const each of waiting) {
      if (end >= maxBatchBytes) break
      count++
      const sealed = seal(
        current,
        before,
        typeof each.content === 'string' ? each.content : each.content(before, current),
      )
      const line = Buffer.from(sealed.line)
      end += line.length
      lines.push(line)
      entries.push({ waiting: each, before, key: current, end })
      before = sealed.link
      current = each.nextKey ?? current
    }
    waiting.splice(0, count)
    this.bytes = Buffer.concat(lines)
    this.link = before
    this.key = current
    this.#entries = entries
  }

  get lines(): number {
    return this.#entries.length
  }

  get isWritten(): boolean {
    return this.writtenBytes === this.bytes.length
  }

  /** Counts what its lines count against what may wait. */
  get waitingBytes(): number {
    return this.#entries.reduce((sum, { waiting }) => sum + waiting.bytes, 0)
  }

  /** Takes it apart where the target is given up in the midst of it: which lines are whole there, what of another, and which are not. */
  unwritten() {
    const first = this.#entries.find(({ end }) => end > this.writtenBytes)
    if (first === undefined) return { link: this.link, key: this.key, waiting: [], torn: null }
    const at = this.#entries.indexOf(first)
    const from = this.#entries[at - 1]?.end ?? 0
    const { before: link, key } = first
    const waiting = this.#entries.slice(at).map((entry) => entry.waiting)
    return {
      link,
      key,
      waiting,
      torn: from === this.writtenBytes ? null : this.bytes.subarray(from, this.writtenBytes),
    }
  }
}

/** Is the lines that wait to be written, up to a bound, and the number of those that were lost because there was no room. */
export class Backlog {
  readonly lines: PendingLine[] = []
  readonly #maxBytes: number
  #bytes = 0
  /** How many lines were lost that no line tells of yet. */
  #unreportedLost = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  hasRoomFor(content: string): boolean {
    return this.#bytes + content.length <= this.#maxBytes
  }

  add(waiting: PendingLine): void {
    this.#bytes += waiting.bytes
    this.lines.push(waiting)
  }

  /** Puts lines in front of the others. `counted`: what still counts of those that were taken with them. */
  requeue(lines: readonly PendingLine[], counted = 0): void {
    this.lines.unshift(...lines)
    this.#bytes += lines.reduce((sum, { bytes }) => sum + bytes, -counted)
  }

  /** Has lines count no longer: they are written. */
  release(bytes: number): void {
    this.#bytes -= bytes
  }

  countLost(lines: number): void {
    this.#unreportedLost += lines
  }

  /** Has a line tell of those that were lost, in their place; false: there are none. */
  addLostLine(): boolean {
    const lines = this.#unreportedLost
    if (lines === 0) return false
    this.#unreportedLost = 0
    this.add({ content: () => lostLine(epochMs(), lines), bytes: 0 })
    return true
  }
}

/** Is what stands behind a whole line and is none: pieces of lines that a crash, a full disk or a change of files cut off. The next line tells of them. */
export class TornTail {
  readonly #afterCount: number
  readonly #pieces: readonly Buffer[]

  /** `piece`: null, there is nothing. */
  constructor({ count }: ChainPosition, piece: Buffer | null, earlier: readonly Buffer[] = []) {
    this.#afterCount = count
    this.#pieces = piece === null ? earlier : [...earlier, piece]
  }

  /** Adds what is left behind a line: to what stood there already, or instead of what stood behind an earlier one. */
  extend(link: ChainPosition, piece: Buffer | null): TornTail {
    return new TornTail(link, piece, link.count === this.#afterCount ? this.#pieces : [])
  }

  /** Says what the line that follows another one tells of them; null: nothing stands between the two. */
  describeAfter({ count }: ChainPosition): TornLine | null {
    if (count !== this.#afterCount || this.#pieces.length === 0) return null
    return toTornLine(Buffer.concat(this.#pieces.flatMap((piece, at) => (at === 0 ? [piece] : [lineEnd, piece]))))
  }
}

/** Tells of a piece of a line what a later line says of it. */
export const toTornLine = (bytes: Buffer): TornLine => ({
  bytes: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
})

/** Makes the first line of a process or of a file, which tells of what remains before it when it is sealed. */
export const pendingHeadLine = (event: 'start' | 'file', tornTail: () => TornTail, more = {}): PendingLine => ({
  content: (before, key) => headLine(epochMs(), event, before, key, tornTail().describeAfter(before), more),
  bytes: 0,
})

// Each piece is ended before anything is written behind it.
const lineEnd = Buffer.from('\n')
