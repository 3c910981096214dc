import { hash } from 'node:crypto'
import { epochMs } from '../../core/lib/clock.ts'
import { pluck, sum } from '../../core/log/sum-reports.ts'
import { eventLine, headLine } from './audit-line.ts'
import { type AuditKey, type ChainPosition, joinPieces, seal, type TornLine } from './chain/chain.ts'

/** `nextKey`: the line announces a key. */
export interface PendingLine {
  readonly content: string | ((before: ChainPosition, key: AuditKey) => string)
  readonly nextKey?: AuditKey
  readonly lost?: number
  readonly bytes: number
}

interface BatchEntry {
  readonly waiting: PendingLine
  readonly before: ChainPosition
  readonly key: AuditKey
  readonly end: number
}

const maxBatchBytes = 256 * 1024

export type SealedBatch = ReturnType<typeof sealBatch>

/** Takes lines from the front of `waiting`: up to 256 KiB, at least one. The output may append only a part. */
export const sealBatch = (first: ChainPosition, firstKey: AuditKey, waiting: PendingLine[]) => {
  const [entries, lines]: [BatchEntry[], Buffer[]] = [[], []]
  let end = 0
  let [link, key] = [first, firstKey]
  for (const each of waiting) {
    if (end >= maxBatchBytes) break
    const content = typeof each.content === 'string' ? each.content : each.content(link, key)
    const sealed = seal(key, link, content)
    const line = Buffer.from(sealed.line)
    end += line.length
    lines.push(line)
    entries.push({ waiting: each, before: link, key, end })
    link = sealed.link
    key = each.nextKey ?? key
  }
  waiting.splice(0, entries.length)
  const bytes = Buffer.concat(lines)
  const waitingBytes = sum(entries.map(({ waiting }) => waiting.bytes))
  const batch = {
    bytes,
    writtenBytes: 0,
    ...{ link, key },
    ...{ lines: entries.length, waitingBytes },
    /**
     * For an output that is left within a batch: the end of its whole lines, its torn line, and the lines still to
     * write.
     */
    unwritten() {
      const { writtenBytes } = batch
      const at = entries.findIndex(({ end }) => end > writtenBytes)
      const next = entries[at]
      if (next === undefined) return { link, key, waiting: [], torn: null }
      const from = entries[at - 1]?.end ?? 0
      const torn = from === writtenBytes ? null : bytes.subarray(from, writtenBytes)
      return { link: next.before, key: next.key, waiting: pluck(entries.slice(at), 'waiting'), torn }
    },
  }
  return batch
}

export const createBacklog = (maxBytes: number) => {
  let unreportedLost = 0
  const backlog = {
    lines: [] as PendingLine[],
    bytes: 0,
    hasRoomFor: (content: string): boolean => backlog.bytes + content.length <= maxBytes,
    add(waiting: PendingLine): void {
      backlog.bytes += waiting.bytes
      backlog.lines.push(waiting)
    },
    /** Puts lines in front. `counted`: bytes of them that still count. */
    requeue(lines: readonly PendingLine[], counted = 0): void {
      backlog.lines.unshift(...lines)
      backlog.bytes += lines.reduce((sum, { bytes }) => sum + bytes, -counted)
    },
    countLost(lines: number): void {
      unreportedLost += lines
    },
    /** False: no line was lost. */
    addLostLine(): boolean {
      const lines = unreportedLost
      if (lines === 0) return false
      unreportedLost = 0
      backlog.add({ content: () => eventLine(epochMs(), 'lost', { lines }), lost: lines, bytes: 0 })
      return true
    },
  }
  return backlog
}

/** Pieces after a line that a crash, a full disk or a change of files cut off. The next line reports them. */
export interface TornTail {
  readonly afterCount: number
  readonly pieces: readonly Buffer[]
}

/** Joins pieces after one line; replaces those after an earlier one. */
export const extendTornTail = (
  { afterCount, pieces }: TornTail,
  { count }: ChainPosition,
  piece: Buffer | null,
): TornTail => ({ afterCount: count, pieces: [count === afterCount ? pieces : [], piece ?? []].flat() })

export const toTornLine = (bytes: Buffer): TornLine => ({ bytes: bytes.length, sha256: hash('sha256', bytes, 'hex') })

/** Reports the torn tail as it is when the line is sealed. */
export const pendingHeadLine = (event: 'start' | 'file', tornTail: () => TornTail, more = {}): PendingLine => ({
  content(before, key) {
    const { afterCount, pieces } = tornTail()
    const torn = before.count === afterCount && pieces.length > 0 ? toTornLine(joinPieces(pieces)) : null
    return headLine(epochMs(), event, before, key, torn, more)
  },
  bytes: 0,
})
