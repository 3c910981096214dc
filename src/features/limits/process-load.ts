import { epochMs } from '../../core/lib/clock.ts'
import type { LogEvent } from '../../core/log/log-event.ts'
import { RollingCounter } from '../../core/log/rolling-counter.ts'
import { sumReports } from '../../core/log/sum-reports.ts'
import { createInFlightCounters, type InFlightCounters } from './limits.ts'
import { EventLoopLag } from './load-shedding.ts'

/** All its snapshots share it. */
export interface ProcessLoad {
  readonly counts: InFlightCounters
  readonly loop: EventLoopLag
  readonly rejectedConnections: RejectedConnectionCounts
}

/** `logEvent` logs load shedding. */
export const createProcessLoad = (logEvent?: LogEvent): ProcessLoad => ({
  counts: createInFlightCounters(),
  loop: new EventLoopLag(logEvent),
  rejectedConnections: { maxConnections: new RollingCounter(), maxConnectionsPerAddress: new RollingCounter() },
})

const limitKeys = ['maxConnections', 'maxConnectionsPerAddress'] as const

/** A setting that closes connections at once. */
export type ConnectionLimitKey = (typeof limitKeys)[number]

export type RejectedConnectionCounts = Readonly<Record<ConnectionLimitKey, RollingCounter>>

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
