import { CoalescedTimer, epochMs, now } from '../../core/lib/clock.ts'
import type { Log } from '../../core/log/log.ts'
import type { AuditOutput, FileSystemSize } from './audit-output.ts'

const minLogIntervalMs = 10_000

/** Logs changes at most every 10 s: a full disk may be full again in a moment. */
export class WriterHealth {
  readonly #log: Log
  readonly #onChange: (failing: boolean) => void
  readonly #logTimer = new CoalescedTimer(() => this.#logChange())
  /** Null: lines are written. */
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

  /** Null: success. */
  update(reason: string | null): void {
    const changed = (reason === null) !== (this.reason === null)
    this.reason = reason
    if (!changed) return
    this.since = epochMs()
    this.#onChange(reason !== null)
    this.#logChange()
  }

  /** Reports a failure while a write takes longer than `ms`. */
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
    // A change undone meanwhile is not logged; the log ends with the last state.
    if (quiet > 0) return this.#logTimer.set(quiet)
    this.#loggedFailing = failing
    this.#loggedAt = now()
    if (failing) return this.#log.error({ reason: this.reason }, 'audit cannot be written')
    this.#log.info({ lost: this.lost - this.#loggedLost }, 'audit is written again')
    this.#loggedLost = this.lost
  }
}

/** Drops `write` from Node's message: operators know. */
export const errorReason = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^(E[A-Z]+: [^,]+), write$/, '$1') : String(error)

interface DiskSpaceState extends FileSystemSize {
  /** At the last hour's pace; null: not filling, or not known yet. */
  readonly fullInSeconds: number | null
  /** An operator must act before the disk is full. */
  readonly low: boolean
}

/** Below a tenth, at most 10 GiB; or a day before full, which can wait for the morning. */
export const lowDisk = { share: 0.1, bytes: 10 * 1024 ** 3, seconds: 86_400 } as const

// Disks fill in bursts, so a pace needs at least half an hour.
const paceWindowMs = 3_600_000
const leastPaceWindowMs = 1_800_000

type MeasuredOutput = Pick<AuditOutput, 'name' | 'measureDisk'>

/** Logs when the disk gets low. */
export class DiskSpace {
  readonly #log: Log
  readonly #samples: { readonly at: number; readonly size: FileSystemSize }[] = []
  #isMeasuring = false
  state: DiskSpaceState | null = null

  constructor(log: Log, output: MeasuredOutput) {
    this.#log = log
    this.measure(output)
  }

  /** A hanging disk holds one of Node's threads, not one per call. */
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
    // Another file system, or a resized one.
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
