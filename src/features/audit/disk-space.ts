import { now } from '../../core/lib/clock.ts'
import type { Log } from '../../core/log/log.ts'
import type { AuditOutput, FileSystemSize } from './audit-output.ts'

export interface DiskSpaceState extends FileSystemSize {
  /** At the pace of the last hour; null: not filling, or unknown. */
  readonly fullInSeconds: number | null
  readonly low: boolean
}

/** Less than a tenth and 10 GiB free, or full within a day. */
export const lowDisk = { share: 0.1, bytes: 10 * 1024 ** 3, seconds: 86_400 } as const

// Disks fill in bursts: a pace needs half an hour.
const paceWindowMs = 3_600_000
const leastPaceWindowMs = 1_800_000

type MeasuredOutput = Pick<AuditOutput, 'name' | 'measureDisk'>

export const trackDiskSpace = (log: Log, output: MeasuredOutput) => {
  const samples: { readonly at: number; readonly size: FileSystemSize }[] = []
  let isMeasuring = false

  const assess = (size: FileSystemSize): DiskSpaceState => {
    const at = now()
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
    /** One call at a time: a hanging disk holds a thread of Node's pool. */
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
