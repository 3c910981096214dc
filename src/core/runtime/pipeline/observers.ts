import type { Config } from '../../config/config.ts'
import { accessLog } from '../../log/access-log.ts'
import type { ExchangeObserver } from '../../log/exchange-record.ts'
import type { Log } from '../../log/log.ts'
import { RequestMetrics } from '../../log/metrics/request-metrics.ts'
import { ProcessStats } from '../../log/process-stats.ts'
import { RecentErrors } from '../../log/recent-errors.ts'
import { createRejectedConnectionCounts } from '../../log/rejected-connections.ts'
import type { SnapshotPart } from '../runtime-part.ts'

export type ProcessTelemetry = Readonly<ReturnType<typeof createProcessTelemetry>>

export const createProcessTelemetry = (log: Log | null, process: string) => ({
  log,
  requestMetrics: new RequestMetrics(),
  recentErrors: new RecentErrors(),
  rejectedConnections: createRejectedConnectionCounts(),
  runtime: new ProcessStats(),
  process,
})

export const listObservers = (
  { metrics, log: { access } }: Config,
  { log, requestMetrics, recentErrors }: ProcessTelemetry,
  features: readonly Pick<SnapshotPart, 'observer'>[],
): readonly ExchangeObserver[] =>
  [
    ...features.map(({ observer = null }) => observer),
    metrics === null ? null : requestMetrics.observer(metrics.clients),
    recentErrors,
    access && log !== null ? accessLog(log) : null,
  ].filter((each) => each !== null)
