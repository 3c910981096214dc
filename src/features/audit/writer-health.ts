import { CoalescedTimer, epochMs, now } from '../../core/lib/clock.ts'
import type { Log } from '../../core/log/log.ts'
import type { AuditOutput, FileSystemSize } from './audit-output.ts'

const minLogIntervalMs = 10_000

/** Knows whether lines can be written, and logs changes, though not each: a full disk may be full again in a moment. */
export class WriterHealth {
  readonly #log: Log
  readonly #onChange: (failing: boolean) => void
  readonly #logTimer = new CoalescedTimer(() => this.#logChange())
  /** Why lines cannot be written; null: they can. */
  reason: string | null = null
  since = epochMs()
  lost = 0
  #loggedFailing = false
  #loggedLost = 0
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(log: Log, onChange: (failing: boolean) => void) {
    this.#log = log
    this.#onChange = onChange
  }

  /** Notes the result of a try; null: it went well. */
  update(reason: string | null): void {
    const changed = (reason === null) !== (this.reason === null)
    this.reason = reason
    if (!changed) return
    this.since = epochMs()
    this.#onChange(reason !== null)
    this.#logChange()
  }

  /** Counts a write that takes longer than `ms` as failed, until it is done. */
  async timed(ms: number, write: Promise<number>): Promise<number> {
    const slow = new CoalescedTimer(() => this.update('a write takes too long'))
    slow.set(ms)
    try {
      return await write
    } finally {
      slow.clear()
    }
  }

  close(): void {
    this.#logTimer.clear()
  }

  #logChange(): void {
    const failing = this.reason !== null
    if (this.#loggedFailing === failing) return
    const quiet = this.#loggedAt + minLogIntervalMs - now()
    // A change that is undone in the meantime is not logged; in the end the log has the last state.
    if (quiet > 0) return this.#logTimer.set(quiet)
    this.#loggedFailing = failing
    this.#loggedAt = now()
    if (failing) return this.#log.error({ reason: this.reason }, 'audit cannot be written')
    this.#log.info({ lost: this.lost - this.#loggedLost }, 'audit is written again')
    this.#loggedLost = this.lost
  }
}

/** Formats an error for operators. Node names the system call last: that it was a write they know. */
export const errorReason = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^(E[A-Z]+: [^,]+), write$/, '$1') : String(error)

interface DiskSpaceState extends FileSystemSize {
  /** After how long the disk is full at the pace of the last hour; null: nothing fills it, or that is not known yet. */
  readonly fullInSeconds: number | null
  /** Whether the disk needs an operator before it is full. */
  readonly low: boolean
}

/**
 * When a disk is low: below a tenth, at most 10 GiB of a large one; or a day before it is full, so that it can wait for
 * the morning.
 */
export const lowDisk = { share: 0.1, bytes: 10 * 1024 ** 3, seconds: 86_400 } as const

// What fills a disk comes in bursts: no pace is told of less than half an hour.
const paceWindowMs = 3_600_000
const leastPaceWindowMs = 1_800_000

type MeasuredOutput = Pick<AuditOutput, 'name' | 'measureDisk'>

/** Knows the space of the disk that lines are written to, as it was measured last, and logs when it gets low. */
export class DiskSpace {
  readonly #log: Log
  readonly #samples: { readonly at: number; readonly size: FileSystemSize }[] = []
  #isMeasuring = false
  state: DiskSpaceState | null = null

  constructor(log: Log, output: MeasuredOutput) {
    this.#log = log
    this.measure(output)
  }

  /** Measures the disk in the background. One that hangs holds one thread of Node's, and not another at each call. */
  measure(output: MeasuredOutput): void {
    if (this.#isMeasuring) return
    this.#isMeasuring = true
    void output
      .measureDisk()
      .catch(() => null)
      .then((size) => {
        this.#isMeasuring = false
        this.#update(output.name, size)
      })
  }

  #update(file: string, size: FileSystemSize | null): void {
    const wasLow = this.state?.low === true
    this.state = size === null ? null : this.#assess(size)
    if (this.state?.low === true && !wasLow) this.#log.warn({ file, ...size }, 'audit disk is nearly full')
  }

  #assess(size: FileSystemSize): DiskSpaceState {
    const at = now()
    // Another file system, or one that was made larger.
    if (this.#samples[0]?.size.sizeBytes !== size.sizeBytes) this.#samples.length = 0
    this.#samples.push({ at, size })
    while (at - (this.#samples[0]?.at ?? at) > paceWindowMs) this.#samples.shift()
    const fullInSeconds = this.#secondsToFull()
    const isShort = size.freeBytes < Math.min(size.sizeBytes * lowDisk.share, lowDisk.bytes)
    return { ...size, fullInSeconds, low: isShort || (fullInSeconds !== null && fullInSeconds < lowDisk.seconds) }
  }

  #secondsToFull(): number | null {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)]
    if (first === undefined || last === undefined || last.at - first.at < leastPaceWindowMs) return null
    const filledBytes = first.size.freeBytes - last.size.freeBytes
    if (filledBytes <= 0) return null
    return Math.round(((last.size.freeBytes / filledBytes) * (last.at - first.at)) / 1000)
  }
}
