import { collectTokens, tokensField } from '../../../features/auth/status.ts'
import { cacheField, collectCache } from '../../../features/cache/status.ts'
import { type DriftReport, mergeDriftReports } from '../../../features/contract/drift-report.ts'
import { collectIdempotency, idempotencyField } from '../../../features/idempotency/status.ts'
import {
  collectRejectedConnections,
  mergeRejectedConnections,
  type RejectedConnectionsReport,
} from '../../../features/limits/process-load.ts'
import { collectLimits, limitsField } from '../../../features/limits/status.ts'
import { type ClientActivityReport, mergeClientActivity } from '../../log/client-activity.ts'
import { mergeRequestMetrics, type RequestMetricsReport } from '../../log/metrics/request-metrics.ts'
import type { ProcessStatsReport } from '../../log/process-stats.ts'
import { mergeRecentErrors, type RecentErrorsReport } from '../../log/recent-errors/recent-errors.ts'
import type { CurrentSnapshot } from '../snapshot/snapshot.ts'
import * as field from './field.ts'
import { type CounterMapper, type HiddenField, mapCountersOf, type Reported } from './field.ts'
import { collectUpstreams, upstreamsField } from './upstreams.ts'

export interface ProcessReport extends ProcessStatsReport {
  /** `gateway` when there is only one; else `primary`, or `worker-1` and so on. */
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

/** Merges what only processes know that the configuration has count. */
const known = <T>(merge: (workers: readonly T[], from: T) => T | null): HiddenField<T | null> =>
  field.hidden(
    (from, workers) =>
      from &&
      merge(
        workers.filter((one) => one !== null),
        from,
      ),
  )

/** What a process reports: the sections of the status, and what findings and metrics alone are made from. */
const report = field.record({
  upstreams: upstreamsField,
  limits: limitsField,
  tokens: tokensField,
  cache: cacheField,
  idempotency: idempotencyField,
  /** What breaks the contract. Null: there is none. */
  drift: known<DriftReport>((workers, { digest }) => mergeDriftReports(digest, workers)),
  /** Null: metrics are off. Their counters add up by themselves. */
  requestMetrics: known<RequestMetricsReport>(mergeRequestMetrics),
  recentErrors,
  /** What authenticated clients did of late. Null: clients do not authenticate. */
  clients: known<ClientActivityReport>(mergeClientActivity),
  /** The processes that serve, and the primary. */
  runtimes: processes,
  /** Connections that were closed at once of late; empty: none. */
  rejectedConnections: field.hidden<readonly RejectedConnectionsReport[]>((from, workers) =>
    mergeRejectedConnections([from, ...workers].flat()),
  ),
  /** How many earlier snapshots still finish requests. An edit leaves the same one behind in each process. */
  retiring: field.hidden<number>((_, workers) => Math.max(...workers)),
})

/** What a process knows of its traffic and its upstreams, as plain data. Times are milliseconds since the epoch. */
export type StatusReport = Reported<typeof report>

export const collectReport = ({ value: current, retiring }: CurrentSnapshot): StatusReport => ({
  upstreams: collectUpstreams(current),
  limits: collectLimits(current),
  tokens: collectTokens(current),
  cache: collectCache(current),
  idempotency: collectIdempotency(current),
  drift: current.driftCounts?.report ?? null,
  requestMetrics: current.config.metrics && current.telemetry.requestMetrics.report,
  recentErrors: current.telemetry.recentErrors.report,
  clients: current.config.auth && current.telemetry.clientActivity.report,
  runtimes: [{ process: current.telemetry.process, ...current.telemetry.runtime.report }],
  rejectedConnections: collectRejectedConnections(current.processLoad.rejectedConnections),
  retiring,
})

/**
 * Merges the reports of several processes that run the same configuration. The workers have the traffic, and the
 * primary the probes. Without a worker the report is the primary's.
 */
export const mergeReports = (primary: StatusReport, workers: readonly StatusReport[]): StatusReport =>
  workers.length === 0 ? primary : report.merge(primary, workers)

/** The counters of a report, each by a name of its own. */
export type ReportCounters = ReadonlyMap<string, number>

/** Lists the counters of a report that run from the start of a process: what never becomes less while it runs. */
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

/** Returns a report with other counts. A counter that `counts` does not name stays as it is. */
export const withCounters = (reported: StatusReport, counts: ReportCounters): StatusReport =>
  mapCounters(reported, (name, count) => counts.get(name) ?? count)

const mapCounters = (reported: StatusReport, change: CounterMapper): StatusReport =>
  mapCountersOf(report, reported, '', change)
