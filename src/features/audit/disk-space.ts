import { now } from '../../core/lib/clock.ts'
import type { Log } from '../../core/log/log.ts'
import type { AuditOutput, FileSystemSize } from './audit-output.ts'

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
