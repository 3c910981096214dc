import { CoalescedTimer, epochMs } from '../lib/clock.ts'
import type { Log } from './log.ts'
import { RollingCounter } from './rolling-counter.ts'
import { pluck, sumReports } from './sum-reports.ts'

const limitKeys = ['maxConnections', 'maxConnectionsPerAddress'] as const

export type ConnectionLimitKey = (typeof limitKeys)[number]

export type RejectedConnectionCounts = ReturnType<typeof createRejectedConnectionCounts>

export const createRejectedConnectionCounts = () => ({
  maxConnections: new RollingCounter(),
  maxConnectionsPerAddress: new RollingCounter(),
})

const logIntervalMs = 1000

export type RejectedConnectionLog = ReturnType<typeof createRejectedConnectionLog>

/** A flood of connections must not flood the log. */
export const createRejectedConnectionLog = (
  log: Log,
  setting: ConnectionLimitKey,
  counts: RejectedConnectionCounts,
  extraFields: { readonly worker?: number } = {},
) => {
  let pending = 0
  let throttled = false
  const flush = (): void => {
    throttled = pending > 0
    if (!throttled) return
    log.warn({ ...extraFields, setting, connections: pending }, 'connections rejected')
    pending = 0
    timer.set(logIntervalMs)
  }
  const timer = new CoalescedTimer(flush)
  return {
    /** Logs at once, or with others within a second. */
    record(): void {
      counts[setting].count(epochMs())
      pending++
      if (!throttled) flush()
    },
    close(): void {
      flush()
      timer.clear()
    },
  }
}

export type RejectedConnectionsReport = ReturnType<typeof collectRejectedConnections>[number]

export const collectRejectedConnections = (counts: RejectedConnectionCounts) =>
  limitKeys.flatMap((setting) => {
    const { firstAt, ...recent } = counts[setting].report(epochMs())
    return firstAt === null ? [] : [{ setting, ...recent, firstAt }]
  })

export const mergeRejectedConnections = (
  each: readonly RejectedConnectionsReport[],
): readonly RejectedConnectionsReport[] =>
  limitKeys.flatMap((setting) => {
    const same = each.filter((report) => report.setting === setting)
    return same.slice(0, 1).map((one) => ({ ...sumReports(one, same), firstAt: Math.min(...pluck(same, 'firstAt')) }))
  })
