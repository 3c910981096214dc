import type { Config } from '../../config/config.ts'
import { ShadowCopies } from '../../layers/candidate/shadow-copies.ts'
import { CheckQueue } from '../../layers/contract/check-queue.ts'
import { accessLog } from '../../observe/access-log.ts'
import { type AuditSink, auditObserver } from '../../observe/audit/audit-sink.ts'
import { GuardReporter } from '../../observe/candidate/guard/guard-counts.ts'
import { ClientActivity } from '../../observe/client-activity.ts'
import type { ExchangeObserver } from '../../observe/exchange-record.ts'
import type { Log } from '../../observe/log.ts'
import { RequestMetrics } from '../../observe/metrics/request-metrics.ts'
import { ProcessStats } from '../../observe/process-stats.ts'
import { RecentErrors } from '../../observe/recent-errors/recent-errors.ts'
import { RecentRequests } from '../../observe/recent-requests.ts'
import { spanObserver } from '../../observe/tracing/tracing.ts'
import { byGroup, type Group } from '../../operations.ts'
import { DeferredWork } from '../../shared/scheduling/deferred-work.ts'

/** All its snapshots share it. */
export interface ProcessTelemetry {
  /** Null: no access line is written. */
  readonly log: Log | null
  readonly requestMetrics: RequestMetrics
  readonly recentErrors: RecentErrors
  readonly recentRequests: RecentRequests
  readonly clientActivity: ClientActivity
  readonly runtime: ProcessStats
  readonly contract: { readonly checks: CheckQueue }
  readonly shadows: Readonly<Record<Group, ShadowCopies>>
  readonly guards: GuardReporter
  /** The name of the process: `gateway` when there is only one. */
  readonly process: string
}

export const createProcessTelemetry = (log: Log | null, process: string): ProcessTelemetry => {
  const deferred = (): DeferredWork =>
    new DeferredWork((err) => {
      if (log !== null) log.error({ err }, 'copy for a candidate failed')
    })
  const [sending, comparing] = [deferred(), deferred()]
  return {
    log,
    requestMetrics: new RequestMetrics(),
    recentErrors: new RecentErrors(),
    recentRequests: new RecentRequests(),
    clientActivity: new ClientActivity(),
    runtime: new ProcessStats(),
    contract: { checks: new CheckQueue((error) => logCheckFailure(log, error)) },
    shadows: byGroup(() => new ShadowCopies(sending, comparing)),
    guards: new GuardReporter(),
    process,
  }
}

const logCheckFailure = (log: Log | null, err: unknown): void => {
  if (log !== null) log.error({ err }, 'contract check failed')
}

/** Lists the observers of every exchange, in the order in which they are called. What is off is not in it. */
export const listObservers = (
  { audit, auth, metrics, tracing, log: { access } }: Config,
  { log, requestMetrics, recentErrors, recentRequests, clientActivity }: ProcessTelemetry,
  auditSink: AuditSink,
): readonly ExchangeObserver[] =>
  [
    audit === null ? null : auditObserver(auditSink),
    metrics === null ? null : requestMetrics.observer(metrics.clients),
    recentErrors,
    recentRequests,
    auth === null ? null : clientActivity,
    typeof tracing?.otlp === 'string' ? spanObserver : null,
    access && log !== null ? accessLog(log) : null,
  ].filter((each) => each !== null)
