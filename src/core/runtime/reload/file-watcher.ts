import type { ReloadConfig } from '../../config/config.ts'
import { now } from '../../lib/clock.ts'

interface WatchTarget {
  stamp(): Promise<string>
  changed(): Promise<boolean>
  /** A load is running, so no known contents can be compared. */
  reading(): boolean
  onChange(): void
}

const checkIntervalMs = 250
// A save is several writes: it has settled when two checks this far apart agree, or after `maxSettleMs`.
const settleMs = 50
const maxSettleMs = 500

export type FileWatcher = ReturnType<typeof createFileWatcher>

/**
 * Calls `stat` four times a second. Compares contents when it differs, and every `reload.poll` for file systems with
 * coarse times. On a hung file system only one check waits.
 */
export const createFileWatcher = (target: WatchTarget) => {
  let isEnabled = false
  let isClosed = false
  let pollMs: number | null = null
  let timer: NodeJS.Timeout | null = null
  let isChecking = false
  let lastStamp = ''
  /** The stat data at the last comparison; empty: the files were being written. */
  let comparedStamp = ''
  let comparedAt = 0
  let unsettledSince: number | null = null

  const scheduleCheck = (ms: number): void => {
    if (timer !== null) clearTimeout(timer)
    timer = isEnabled && !isChecking ? setTimeout(check, ms).unref() : null
  }

  const check = async (): Promise<void> => {
    isChecking = true
    await compare()
    isChecking = false
    scheduleCheck(unsettledSince === null ? Math.min(checkIntervalMs, pollMs ?? checkIntervalMs) : settleMs)
  }

  const compare = async (): Promise<void> => {
    if (target.reading()) return
    const stamp = await target.stamp()
    const isSettled = stamp === lastStamp
    lastStamp = stamp
    const isKnown = isSettled && stamp === comparedStamp
    const isDue = pollMs !== null && now() - comparedAt >= pollMs
    if (isKnown && !isDue) return
    unsettledSince ??= now()
    if (!isSettled && now() - unsettledSince < maxSettleMs) return
    const changed = await target.changed()
    unsettledSince = null
    if (!isEnabled || target.reading()) return
    // After two equal checks, a later write has another time, however coarse the kernel's file clock.
    comparedStamp = isSettled ? stamp : ''
    comparedAt = now()
    if (changed) target.onChange()
  }

  const configure = ({ watch, poll }: Pick<ReloadConfig, 'watch' | 'poll'>): void => {
    isEnabled = watch && !isClosed
    pollMs = poll
    scheduleCheck(settleMs)
  }
  const close = (): void => {
    isClosed = true
    configure({ watch: false, poll: null })
  }
  return { configure, close }
}
