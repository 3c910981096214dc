import { mergeRequestMetrics, type RequestMetricsReport } from '../../log/metrics/request-metrics.ts'
import type { ProcessStatsReport } from '../../log/process-stats.ts'
import { mergeRecentErrors, type RecentErrorsReport } from '../../log/recent-errors.ts'
import {
  collectRejectedConnections,
  mergeRejectedConnections,
  type RejectedConnectionsReport,
} from '../../log/rejected-connections.ts'
import type { CurrentSnapshot } from '../snapshot/snapshot.ts'
import * as field from './field.ts'
import { type CounterMapper, type HiddenField, mapCountersOf, type Reported } from './field.ts'
import { type StatusReport, statusPartLoaders, type TotalReport } from './status-part.ts'
import { collectUpstreams, upstreamsField } from './upstreams.ts'

export interface ProcessReport extends ProcessStatsReport {
  readonly process: string
}

const processCounters = field.record({
  cpuSeconds: field.record({ user: field.count, system: field.count }),
  eventLoop: field.record({
    activeSeconds: field.count,
    idleSeconds: field.count,
    delayMs: field.hidden<ProcessReport['eventLoop']['delayMs']>(),
  }),
})

const processes: HiddenField<readonly ProcessReport[]> = {
  merge: (from, workers) => [...from, ...workers.flat()],
  mapCounters: (all, path, change) =>
    all.map((one) => ({ ...one, ...mapCountersOf(processCounters, one, `${path}.${one.process}`, change) })),
}

const recentErrors: HiddenField<RecentErrorsReport> = {
  merge: (_, workers) => mergeRecentErrors(workers),
  mapCounters: (errors, path, change) => ({ ...errors, total: change(`${path}.total`, errors.total) }),
}

const ownSections = {
  upstreams: upstreamsField,
  /** Null: metrics are off. Without `mapCounters`, because the whole report of an ended worker is kept and merged. */
  requestMetrics: field.known<RequestMetricsReport>(mergeRequestMetrics),
  recentErrors,
  runtimes: processes,
  rejectedConnections: field.hidden<readonly RejectedConnectionsReport[]>((from, workers) =>
    mergeRejectedConnections([from, ...workers].flat()),
  ),
  /**
   * Earlier snapshots that still finish requests. An edit leaves the same one in each process, so the maximum counts.
   */
  retiring: field.hidden<number>((_, workers) => Math.max(...workers)),
}

const ownReport = field.record(ownSections)

declare module './status-part.ts' {
  interface StatusReport extends Reported<typeof ownReport> {}
}

const statusParts = await statusPartLoaders.load()
const sections = statusParts.flatMap(({ reported = [] }) => reported)

export const totalReports: readonly TotalReport[] = statusParts.flatMap(({ totals = [] }) => totals)

const report = field.record({
  ...ownSections,
  ...Object.fromEntries(sections.map(({ key, field }) => [key, field])),
}) as HiddenField<unknown> as HiddenField<StatusReport>

export const collectReport = ({ value: current, retiring }: CurrentSnapshot): StatusReport => {
  const own: Reported<typeof ownReport> = {
    upstreams: collectUpstreams(current),
    requestMetrics: current.config.metrics && current.telemetry.requestMetrics.report,
    recentErrors: current.telemetry.recentErrors.report,
    runtimes: [{ process: current.telemetry.process, ...current.telemetry.runtime.report }],
    rejectedConnections: collectRejectedConnections(current.telemetry.rejectedConnections),
    retiring,
  }
  const ofFeatures = sections.map(({ key, collect }) => [key, collect(current)] as const)
  return { ...own, ...Object.fromEntries(ofFeatures) } as StatusReport
}

/** `primary` and `workers` have the same configuration: the workers have the traffic, the primary the probes. */
export const mergeReports = (primary: StatusReport, workers: readonly StatusReport[]): StatusReport =>
  workers.length === 0 ? primary : report.merge(primary, workers)

export type ReportCounters = ReadonlyMap<string, number>

export const collectCounters = (reported: StatusReport): ReportCounters => {
  const counts = new Map<string, number>()
  mapCounters(reported, (name, count) => {
    counts.set(name, count)
    return count
  })
  return counts
}

export const sumCounters = (all: readonly ReportCounters[]): ReportCounters => {
  const sums = new Map<string, number>()
  for (const counts of all) for (const [name, count] of counts) sums.set(name, (sums.get(name) ?? 0) + count)
  return sums
}

export const withCounters = (reported: StatusReport, counts: ReportCounters): StatusReport =>
  mapCounters(reported, (name, count) => counts.get(name) ?? count)

const mapCounters = (reported: StatusReport, change: CounterMapper): StatusReport =>
  mapCountersOf(report, reported, '', change)
