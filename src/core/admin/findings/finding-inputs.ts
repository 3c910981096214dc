import { resolve } from 'node:path'
import type { OperationId } from '../../../operations.ts'
import { epochMs } from '../../lib/clock.ts'
import type { OverridesView } from '../../runtime/overrides.ts'
import { listDifferingFiles } from '../../runtime/reload/config-drift.ts'
import type { StatusReport } from '../../runtime/status/report.ts'
import type { AdminContext } from '../admin-context.ts'
import { adminParts, findClients } from '../admin-parts.ts'

export interface RecentTraffic {
  readonly requests: number
  /** The upstream's own 5xx responses, relayed. */
  readonly passedOn: number
  /** 5xx responses that were stored. */
  readonly storedErrors: number
}

const collectOwn = (context: AdminContext, report: StatusReport, drifted: readonly string[]) => {
  const { config, file, state, previous } = context.reloader
  const overrides: OverridesView = context.overrides
  const isEdit = state.loadedBy !== 'start' && state.loadedBy !== 'rollback' && previous !== null
  return {
    at: epochMs(),
    config,
    loadedAt: state.loadedAt,
    /** Null: a rollback would undo no edit. */
    undoableEditAt: isEdit ? state.loadedAt : null,
    file: {
      name: resolve(file),
      /** This file, or files that it refers to. */
      differing: listDifferingFiles(context.reloader, drifted),
      rolledBack: state.loadedBy === 'rollback',
      refusal: state.refusal,
      nextTryAt: state.nextTryAt,
    },
    report,
    /** Of the last minute, or since the first sample; null: metrics are off, or no feature counts them. */
    recent: null as Readonly<Record<OperationId, RecentTraffic>> | null,
    overrides,
    parts: context.parts,
    /** Passed in: a file that features import cannot import them. */
    adminParts,
    findClients,
    notServing: context.notServing(),
    draining: context.draining(),
    droppedLines: context.droppedLines(),
  }
}

/** Times are milliseconds since the epoch. */
export interface FindingInputs extends Readonly<ReturnType<typeof collectOwn>> {}

/** `drifted`: files changed since they were last read. */
export const collectFindingInputs = (
  context: AdminContext,
  report: StatusReport,
  drifted: readonly string[],
): FindingInputs =>
  Object.assign(
    collectOwn(context, report, drifted),
    ...adminParts.map((part) => part.findingInputs?.(context, report)),
  )
