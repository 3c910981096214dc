import { CoalescedTimer, epochMs, now } from '../../core/lib/clock.ts'
import type { Log } from '../../core/log/log.ts'
import type { AuditOutput, FileSystemSize } from './audit-output.ts'

const minLogIntervalMs = 10_000

/** Logs changes at most every 10 s: a full disk may be full again in a moment. */
export const trackWriterHealth = (log: Log, onChange: (failing: boolean) => void) => {
  /** `reason` null: lines are written. */
  const state = { reason: null as string | null, since: epochMs(), lost: 0 }
  const logged = { failing: false, lost: 0, at: Number.NEGATIVE_INFINITY }
  const logTimer = new CoalescedTimer(() => logChange())

  const logChange = (): void => {
    const { reason, lost } = state
    const failing = reason !== null
    if (logged.failing === failing) return
    const quiet = logged.at + minLogIntervalMs - now()
    // A change undone meanwhile is not logged; the log ends with the last state.
    if (quiet > 0) return logTimer.set(quiet)
    Object.assign(logged, { failing, at: now() })
    if (failing) return log.error({ reason }, 'audit cannot be written')
    log.info({ lost: lost - logged.lost }, 'audit is written again')
    logged.lost = lost
  }

  const update = (reason: string | null): void => {
    const changed = (reason === null) !== (state.reason === null)
    state.reason = reason
    if (!changed) return
    state.since = epochMs()
    onChange(reason !== null)
    logChange()
  }

  return {
    state,
    update,
    /** Reports a failure while a write takes longer than `ms`. */
    async timed(ms: number, write: Promise<number>): Promise<number> {
      const slow = new CoalescedTimer(() => update('a write takes too long'))
      slow.set(ms)
      try {
        return await write
      } finally {
        slow.clear()
      }
    },
    close: () => logTimer.clear(),
  }
}

/** Drops `write` from Node's message: operators know. */
export const errorReason = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^(E[A-Z]+: [^,]+), write$/, '$1') : String(error)

export interface DiskSpaceState extends FileSystemSize {
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

export const trackDiskSpace = (log: Log, output: MeasuredOutput) => {
  const samples: { readonly at: number; readonly size: FileSystemSize }[] = []
  let isMeasuring = false

  const assess = (size: FileSystemSize): DiskSpaceState => {
    const at = now()
    // Another file system, or a resized one.
    if (samples[0]?.size.sizeBytes !== size.sizeBytes) samples.length = 0
    samples.push({ at, size })
    while (at - (samples[0]?.at ?? at) > paceWindowMs) samples.shift()
    const first = samples[0] ?? { at, size }
    const filledBytes = at - first.at < leastPaceWindowMs ? 0 : first.size.freeBytes - size.freeBytes
    const fullInSeconds = filledBytes > 0 ? Math.round(((size.freeBytes / filledBytes) * (at - first.at)) / 1000) : null
    const isShort = size.freeBytes < Math.min(size.sizeBytes * lowDisk.share, lowDisk.bytes)
    return { ...size, fullInSeconds, low: isShort || (fullInSeconds !== null && fullInSeconds < lowDisk.seconds) }
  }

  const space = {
    state: null as DiskSpaceState | null,
    /** A hanging disk holds one of Node's threads, not one per call. */
    measure(output: MeasuredOutput): void {
      if (isMeasuring) return
      isMeasuring = true
      const measured = output.measureDisk().catch(() => null)
      void measured.then((size) => {
        isMeasuring = false
        const wasLow = space.state?.low === true
        space.state = size && assess(size)
        if (space.state?.low && !wasLow) log.warn({ file: output.name, ...size }, 'audit disk is nearly full')
      })
    },
  }
  space.measure(output)
  return space
}
