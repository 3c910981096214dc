import { hash } from 'node:crypto'
import { epochMs } from '../../core/lib/clock.ts'
import { headLine, lostLine } from './audit-line.ts'
import { type AuditKey, type ChainPosition, joinPieces, seal, type TornLine } from './chain/chain.ts'

/** A line that waits: its content, which may depend on the line before it, and the next key where it announces one. */
export interface PendingLine {
  readonly content: string | ((before: ChainPosition, key: AuditKey) => string)
  readonly nextKey?: AuditKey
  readonly lost?: number
  /** How much it counts against the limit of what may wait. */
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

/** Sealed lines on their way to the output, in one write unless that takes fewer bytes. */
export class SealedBatch {
  readonly bytes: Buffer
  writtenBytes = 0
  /** The end of the chain after the last line. */
  readonly link: ChainPosition
  readonly key: AuditKey
  readonly #entries: readonly BatchEntry[]

  /** Seals as many lines off the front of `waiting` as one write takes, at least one. */
  constructor(link: ChainPosition, key: AuditKey, waiting: PendingLine[]) {
    const [entries, lines]: [BatchEntry[], Buffer[]] = [[], []]
    let end = 0
    let [before, current] = [link, key]
    let count = 0
    for (const each of waiting) {
      if (end >= maxBatchBytes) break
      count++
      const content = typeof each.content === 'string' ? each.content : each.content(before, current)
      const sealed = seal(current, before, content)
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

  /** What its lines count against the limit of what may wait. */
  get waitingBytes(): number {
    return this.#entries.reduce((sum, { waiting }) => sum + waiting.bytes, 0)
  }

  /**
   * Takes the batch apart where the output is given up in the middle of it: the end of the whole lines there, the torn
   * rest of another, and the lines that are not there.
   */
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

/** The lines that wait to be written, up to a limit, and the number of lines lost because there was no room. */
export class Backlog {
  readonly lines: PendingLine[] = []
  readonly #maxBytes: number
  #bytes = 0
  /** Lost lines that no line reports yet. */
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

  /** Stops counting lines that are written. */
  release(bytes: number): void {
    this.#bytes -= bytes
  }

  countLost(lines: number): void {
    this.#unreportedLost += lines
  }

  /** Adds a line that reports the lost ones, in their place. False: there are none. */
  addLostLine(): boolean {
    const lines = this.#unreportedLost
    if (lines === 0) return false
    this.#unreportedLost = 0
    this.add({ content: () => lostLine(epochMs(), lines), lost: lines, bytes: 0 })
    return true
  }
}

/**
 * The bytes after a whole line that form no line: pieces that a crash, a full disk or a change of files cut off. The
 * next line reports them.
 */
export class TornTail {
  readonly #afterCount: number
  readonly #pieces: readonly Buffer[]

  /** `piece` null: there is none. */
  constructor({ count }: ChainPosition, piece: Buffer | null, earlier: readonly Buffer[] = []) {
    this.#afterCount = count
    this.#pieces = piece === null ? earlier : [...earlier, piece]
  }

  /**
   * Adds a piece left after a line: to the pieces that stood there already, or in place of those after an earlier line.
   */
  extend(link: ChainPosition, piece: Buffer | null): TornTail {
    return new TornTail(link, piece, link.count === this.#afterCount ? this.#pieces : [])
  }

  /** Describes what stands between a line and the next one; null: nothing. */
  describeAfter({ count }: ChainPosition): TornLine | null {
    if (count !== this.#afterCount || this.#pieces.length === 0) return null
    return toTornLine(joinPieces(this.#pieces))
  }
}

export const toTornLine = (bytes: Buffer): TornLine => ({
  bytes: bytes.length,
  sha256: hash('sha256', bytes, 'hex'),
})

/** Creates the first line of a process or of a file. It reports the torn tail before it, as known when it is sealed. */
export const pendingHeadLine = (event: 'start' | 'file', tornTail: () => TornTail, more = {}): PendingLine => ({
  content: (before, key) => headLine(epochMs(), event, before, key, tornTail().describeAfter(before), more),
  bytes: 0,
})
