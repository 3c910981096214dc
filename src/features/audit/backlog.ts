import { hash } from 'node:crypto'
import { epochMs } from '../../core/lib/clock.ts'
import { pluck } from '../../core/log/sum-reports.ts'
import { eventLine, headLine } from './audit-line.ts'
import { type AuditKey, type ChainPosition, joinPieces, seal, type TornLine } from './chain/chain.ts'

/** `content` may depend on the line before; `nextKey`: a line that announces a key. */
export interface PendingLine {
  readonly content: string | ((before: ChainPosition, key: AuditKey) => string)
  readonly nextKey?: AuditKey
  readonly lost?: number
  /** Counts against `maxPendingBytes`. */
  readonly bytes: number
}

interface BatchEntry {
  readonly waiting: PendingLine
  /** What the line follows, and its key. */
  readonly before: ChainPosition
  readonly key: AuditKey
  /** The line's end within the batch. */
  readonly end: number
}

const maxBatchBytes = 256 * 1024

/** Appended in one write, unless the output takes fewer bytes. */
export class SealedBatch {
  readonly bytes: Buffer
  writtenBytes = 0
  /** The chain after the last line. */
  readonly link: ChainPosition
  readonly key: AuditKey
  readonly #entries: readonly BatchEntry[]

  /** Takes lines from the front of `waiting`, up to 256 KiB, at least one. */
  constructor(link: ChainPosition, key: AuditKey, waiting: PendingLine[]) {
    const [entries, lines]: [BatchEntry[], Buffer[]] = [[], []]
    let end = 0
    let [before, current] = [link, key]
    for (const each of waiting) {
      if (end >= maxBatchBytes) break
      const content = typeof each.content === 'string' ? each.content : each.content(before, current)
      const sealed = seal(current, before, content)
      const line = Buffer.from(sealed.line)
      end += line.length
      lines.push(line)
      entries.push({ waiting: each, before, key: current, end })
      before = sealed.link
      current = each.nextKey ?? current
    }
    waiting.splice(0, entries.length)
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

  get waitingBytes(): number {
    return this.#entries.reduce((sum, { waiting }) => sum + waiting.bytes, 0)
  }

  /** For an output abandoned mid-batch: the end of its whole lines, the torn rest, and the missing lines. */
  unwritten() {
    const first = this.#entries.find(({ end }) => end > this.writtenBytes)
    if (first === undefined) return { link: this.link, key: this.key, waiting: [], torn: null }
    const at = this.#entries.indexOf(first)
    const from = this.#entries[at - 1]?.end ?? 0
    const torn = from === this.writtenBytes ? null : this.bytes.subarray(from, this.writtenBytes)
    return { link: first.before, key: first.key, waiting: pluck(this.#entries.slice(at), 'waiting'), torn }
  }
}

export class Backlog {
  readonly lines: PendingLine[] = []
  readonly #maxBytes: number
  #bytes = 0
  /** Not yet reported by a line. */
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

  /** At the front. `counted`: bytes of these lines that still count. */
  requeue(lines: readonly PendingLine[], counted = 0): void {
    this.lines.unshift(...lines)
    this.#bytes += lines.reduce((sum, { bytes }) => sum + bytes, -counted)
  }

  release(bytes: number): void {
    this.#bytes -= bytes
  }

  countLost(lines: number): void {
    this.#unreportedLost += lines
  }

  /** False: no line was lost. */
  addLostLine(): boolean {
    const lines = this.#unreportedLost
    if (lines === 0) return false
    this.#unreportedLost = 0
    this.add({ content: () => eventLine(epochMs(), 'lost', { lines }), lost: lines, bytes: 0 })
    return true
  }
}

/** Pieces after a line, cut off by a crash, a full disk or a change of files. The next line reports them. */
export class TornTail {
  readonly #afterCount: number
  readonly #pieces: readonly Buffer[]

  constructor({ count }: ChainPosition, piece: Buffer | null, earlier: readonly Buffer[] = []) {
    this.#afterCount = count
    this.#pieces = piece === null ? earlier : [...earlier, piece]
  }

  /** Joins pieces after the same line, or replaces those after an earlier one. */
  extend(link: ChainPosition, piece: Buffer | null): TornTail {
    return new TornTail(link, piece, link.count === this.#afterCount ? this.#pieces : [])
  }

  describeAfter({ count }: ChainPosition): TornLine | null {
    return count === this.#afterCount && this.#pieces.length > 0 ? toTornLine(joinPieces(this.#pieces)) : null
  }
}

export const toTornLine = (bytes: Buffer): TornLine => ({ bytes: bytes.length, sha256: hash('sha256', bytes, 'hex') })

/** Reports the torn tail as known when the line is sealed. */
export const pendingHeadLine = (event: 'start' | 'file', tornTail: () => TornTail, more = {}): PendingLine => ({
  content: (before, key) => headLine(epochMs(), event, before, key, tornTail().describeAfter(before), more),
  bytes: 0,
})
