import type { Config } from '../../config/config.ts'
import { accessLog } from '../../observe/access-log.ts'
import { type AuditSink, auditObserver } from '../../observe/audit/audit-line.ts'
import type { ExchangeObserver } from '../../observe/exchange-record.ts'
import type { Log } from '../../observe/log.ts'
import { RequestMetrics } from '../../observe/metrics/request-metrics.ts'
import { ProcessStats } from '../../observe/process-stats.ts'
import { RecentErrors } from '../../observe/recent-errors/recent-errors.ts'
import { spanObserver } from '../../observe/tracing/tracing.ts'

/** Is what one process observes its exchanges by. There is one for all its snapshots. */
export interface ProcessTelemetry {
  /** Null: no line is written. */
  readonly log: Log | null
  readonly requestMetrics: RequestMetrics
  readonly recentErrors: RecentErrors
  readonly runtime: ProcessStats
  /** What the process is called: `gateway` when there is but one. */
  readonly process: string
}

/** Makes that of a process that has seen nothing yet. */
export const createProcessTelemetry = (log: Log | null, process: string): ProcessTelemetry => ({
  log,
  requestMetrics: new RequestMetrics(),
  recentErrors: new RecentErrors(),
  runtime: new ProcessStats(),
  process,
})

/** Lists who hears of every exchange, in that order; what is off is not in it. */
export const listObservers = (
  { audit, metrics, tracing, log: { access } }: Config,
  { log, requestMetrics, recentErrors }: ProcessTelemetry,
  auditSink: AuditSink,
): readonly ExchangeObserver[] =>
  [
    audit === null ? null : auditObserver(auditSink),
    metrics === null ? null : requestMetrics.observer(metrics.clients),
    recentErrors,
    typeof tracing?.otlp === 'string' ? spanObserver : null,
    access && log !== null ? accessLog(log) : null,
  ].filter((each) => each !== null)
