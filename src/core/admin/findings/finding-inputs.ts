import { resolve } from 'node:path'
import { byOperation, type OperationId } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import { epochMs } from '../../lib/clock.ts'
import type { OverridesView } from '../../runtime/overrides.ts'
import type { PrimaryParts } from '../../runtime/primary-part.ts'
import type { NotServingReason } from '../../runtime/proxy-server.ts'
import { listDifferingFiles } from '../../runtime/reload/config-drift.ts'
import type { ReloadRejection } from '../../runtime/reload/reload-history.ts'
import type { StatusReport } from '../../runtime/status/report.ts'
import type { AdminContext } from '../admin-context.ts'
import type { AdminPart, FindClients } from '../admin-part.ts'
import { adminParts, findClients } from '../admin-parts.ts'
import type { RecentTraffic } from '../rate-history.ts'

/** Times are milliseconds since the epoch. */
export interface FindingInputs {
  readonly at: number
  readonly config: Config
  readonly loadedAt: number
  /** Null: a rollback would undo no edit. */
  readonly undoableEditAt: number | null
  readonly file: ConfigFileState
  readonly report: StatusReport
  /** The requests of each operation in the last minute; null: metrics are off. */
  readonly recent: Readonly<Record<OperationId, RecentTraffic>> | null
  readonly overrides: OverridesView
  readonly parts: PrimaryParts
  /** Passed in: a file that features import cannot import them. */
  readonly adminParts: readonly AdminPart[]
  readonly findClients: FindClients
  readonly notServing: NotServingReason | null
  readonly draining: boolean
  readonly droppedLines: number
}

interface ConfigFileState {
  readonly name: string
  /** This file, or files that it refers to. */
  readonly differing: readonly string[]
  readonly rolledBack: boolean
  readonly refusal: ReloadRejection | null
  readonly nextTryAt: number | null
}

/** `drifted`: files changed since they were last read. */
export const collectFindingInputs = (
  context: AdminContext,
  report: StatusReport,
  drifted: readonly string[],
): FindingInputs => {
  const { config, file, state, previous } = context.reloader
  const { requestMetrics } = report
  const isEdit = state.loadedBy !== 'start' && state.loadedBy !== 'rollback' && previous !== null
  const own = {
    at: epochMs(),
    config,
    loadedAt: state.loadedAt,
    undoableEditAt: isEdit ? state.loadedAt : null,
    file: {
      name: resolve(file),
      differing: listDifferingFiles(context.reloader, drifted),
      rolledBack: state.loadedBy === 'rollback',
      refusal: state.refusal,
      nextTryAt: state.nextTryAt,
    },
    report,
    recent: requestMetrics && byOperation(({ id }) => context.history.recent(id, requestMetrics)),
    overrides: context.overrides,
    parts: context.parts,
    adminParts,
    findClients,
    notServing: context.notServing(),
    draining: context.draining(),
    droppedLines: context.droppedLines(),
  }
  return Object.assign(own, ...adminParts.map((part) => part.findingInputs?.(context)))
}
