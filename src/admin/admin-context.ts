import type { AuditLog } from '../observe/audit/audit-log.ts'
import type { Overrides } from '../runtime/overrides.ts'
import type { Reloader } from '../runtime/reload/reloader.ts'
import type { NotServingReason, StatusReport, WorkerStatus } from '../runtime/report/status-report.ts'
import type { RunInAllProcesses } from '../runtime/snapshot/data-plane-commands.ts'
import type { ResolveCommand } from './findings/finding.ts'
import type { RateHistory } from './rate-history.ts'

/** Is what the operator's listener shows and moves. */
export interface AdminContext {
  readonly reloader: Reloader
  readonly overrides: Overrides
  /** Takes what operators do. */
  readonly audit: Pick<AuditLog, 'recordAdminEvent' | 'state' | 'failing'>
  /** Tells whether the gateway is on its way down. */
  draining(): boolean
  /** Tells why no client is served just now; null: clients are. */
  notServing(): NotServingReason | null
  /** Tells how many log lines were dropped because their reader was too slow. */
  droppedLines(): number
  /** Tells what is known of the traffic, by whoever serves it. */
  report(): Promise<StatusReport>
  /** Tells how the workers do, by what the last report found; none: this process serves. */
  workers(): readonly WorkerStatus[]
  /** Has the commands of findings run on this machine. */
  readonly resolveCommand: ResolveCommand
  /** What has been served of late. */
  readonly history: RateHistory
  /** Has a command carried out where clients are served. */
  readonly runEverywhere: RunInAllProcesses
}

/** Why this gateway can serve no new client, whatever stands behind it. */
export type NotReadyReason = 'draining' | NotServingReason | 'audit-unavailable'

/**
 * Tells why new clients are not welcome; null: they are. Upstreams do not count: a gateway whose upstream is down still answers best itself. One that
 * refuses every exchange because it cannot be recorded serves nobody, and another gateway, with room on its disk, does.
 */
export const getNotReadyReason = ({
  draining,
  notServing,
  audit,
  reloader,
}: Pick<AdminContext, 'draining' | 'notServing' | 'audit' | 'reloader'>): NotReadyReason | null => {
  if (draining()) return 'draining'
  const rejects = reloader.config.audit?.onFailure === 'refuse'
  return notServing() ?? (rejects && audit.failing ? 'audit-unavailable' : null)
}
