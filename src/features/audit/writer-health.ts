import { CoalescedTimer, epochMs, now } from '../../core/lib/clock.ts'
import type { Log } from '../../core/log/log.ts'

const minLogIntervalMs = 10_000

/** Logs changes at most every 10 s: a disk may be full again in a moment. */
export const trackWriterHealth = (log: Log, onChange: (failing: boolean) => void) => {
  const state = { reason: null as string | null, since: epochMs(), lost: 0 }
  const logged = { failing: false, lost: 0, at: Number.NEGATIVE_INFINITY }
  const logTimer = new CoalescedTimer(() => logChange())

  const logChange = (): void => {
    const { reason, lost } = state
    const failing = reason !== null
    if (logged.failing === failing) return
    const quiet = logged.at + minLogIntervalMs - now()
    // A change that was undone meanwhile is not logged.
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

/** Without `write`, the name of the system call in Node's message. */
export const errorReason = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^(E[A-Z]+: [^,]+), write$/, '$1') : String(error)
