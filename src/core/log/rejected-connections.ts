import { CoalescedTimer, epochMs } from '../lib/clock.ts'
import type { Log } from './log.ts'
import { RollingCounter } from './rolling-counter.ts'
import { sumReports } from './sum-reports.ts'

const limitKeys = ['maxConnections', 'maxConnectionsPerAddress'] as const

/** A setting that closes connections at once. */
export type ConnectionLimitKey = (typeof limitKeys)[number]

export type RejectedConnectionCounts = Readonly<Record<ConnectionLimitKey, RollingCounter>>

export const createRejectedConnectionCounts = (): RejectedConnectionCounts => ({
  maxConnections: new RollingCounter(),
  maxConnectionsPerAddress: new RollingCounter(),
})

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

export interface RejectedConnectionsReport {
  readonly setting: ConnectionLimitKey
  readonly lastMinute: number
  readonly last15Min: number
  /** When the first of the last quarter of an hour was, in ms since the epoch, to ten seconds. */
  readonly firstAt: number
}

export const collectRejectedConnections = (counts: RejectedConnectionCounts): readonly RejectedConnectionsReport[] => {
  const at = epochMs()
  return limitKeys.flatMap((setting): readonly RejectedConnectionsReport[] => {
    const counter = counts[setting]
    const firstAt = counter.firstAt(at)
    if (firstAt === null) return []
    return [
      { setting, lastMinute: counter.countWithin(at, 60_000), last15Min: counter.countWithin(at, 900_000), firstAt },
    ]
  })
}

export const mergeRejectedConnections = (
  each: readonly RejectedConnectionsReport[],
): readonly RejectedConnectionsReport[] =>
  limitKeys.flatMap((setting): readonly RejectedConnectionsReport[] => {
    const same = each.filter((report) => report.setting === setting)
    const [first] = same
    if (first === undefined) return []
    return [{ ...sumReports(first, same), firstAt: Math.min(...same.map(({ firstAt }) => firstAt)) }]
  })
