import type { ConnectionLimitKey, RejectedConnectionCounts } from '../../../features/limits/process-load.ts'
import { CoalescedTimer, epochMs } from '../../lib/clock.ts'
import type { Log } from '../../log/log.ts'

const logIntervalMs = 1000

export interface RejectedConnectionLog {
  /** Counts a rejected connection, and logs it: at once, or with others within a second. */
  record(): void
  /** Logs those that were not logged yet. */
  close(): void
}

/**
 * Creates the log of the connections that a setting has closed; they are counted in `counts` too. A flood of
 * connections must not flood the log as well.
 */
export const createRejectedConnectionLog = (
  log: Log,
  setting: ConnectionLimitKey,
  counts: RejectedConnectionCounts,
  extraFields: { readonly worker?: number } = {},
): RejectedConnectionLog => {
  let pending = 0
  let throttled = false
  const flush = (): void => {
    throttled = pending > 0
    if (!throttled) return
    log.warn({ ...extraFields, setting, connections: pending }, 'connections turned away')
    pending = 0
    timer.set(logIntervalMs)
  }
  const timer = new CoalescedTimer(flush)
  return {
    record() {
      counts[setting].count(epochMs())
      pending++
      if (!throttled) flush()
    },
    close() {
      flush()
      timer.clear()
    },
  }
}
