import { resolve } from 'node:path'
import { epochMs } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import type { ConfigProblem } from '../../config/problem.ts'
import type { AuditWriterState } from '../../observe/audit/audit-writer.ts'
import { byOperation, type OperationId } from '../../operations.ts'
import type { OverridesView } from '../../runtime/overrides.ts'
import type { NotServingReason, StatusReport, WorkerStatus } from '../../runtime/report/status-report.ts'
import type { AdminContext } from '../admin-context.ts'
import type { RecentTraffic } from '../rate-history.ts'

/** Is all that is known of the gateway at one moment: what findings are made of. Times are milliseconds since the epoch. */
export interface FindingInputs {
  readonly at: number
  readonly config: Config
  readonly file: ConfigFileState
  readonly report: StatusReport
  /** What each operation was asked in the last minute; null: nothing is counted. */
  readonly recent: Readonly<Record<OperationId, RecentTraffic>> | null
  /** What operators have said for a while. */
  readonly overrides: OverridesView
  /** Null: there is no audit log, or another process writes it. */
  readonly audit: AuditWriterState | null
  /** None: one process does all. */
  readonly workers: readonly WorkerStatus[]
  /** Why no client is served; null: clients are. */
  readonly notServing: NotServingReason | null
  readonly draining: boolean
  /** Log lines that were dropped since the start. */
  readonly droppedLines: number
}

/** Is how the file stands to what runs. */
export interface ConfigFileState {
  readonly name: string
  readonly differs: boolean
  /** Whether what runs was brought back. */
  readonly rolledBack: boolean
  readonly refusal: { readonly at: number; readonly problems: readonly ConfigProblem[] } | null
  /** When an edit that is held back is tried again; null: none is. */
  readonly nextTryAt: number | null
}

/** Reads from the desk what findings are made of. `isUnread`: the file holds something else than when it was last read. */
export const collectFindingInputs = (
  context: AdminContext,
  report: StatusReport,
  isDrifted: boolean,
): FindingInputs => {
  const { config, file, state } = context.reloader
  return {
    at: epochMs(),
    config,
    file: {
      name: resolve(file),
      differs: state.fileDiffers || isDrifted,
      rolledBack: state.loadedBy === 'rollback',
      refusal: state.refusal,
      nextTryAt: state.nextTryAt,
    },
    report,
    recent: collectRecentTraffic(context, report),
    overrides: context.overrides,
    audit: context.audit.state,
    workers: context.workers(),
    notServing: context.notServing(),
    draining: context.draining(),
    droppedLines: context.droppedLines(),
  }
}

const collectRecentTraffic = ({ history }: AdminContext, { requestMetrics }: StatusReport): FindingInputs['recent'] =>
  requestMetrics && byOperation(({ id }) => history.recent(id, requestMetrics))
