import { resolve } from 'node:path'
import type { Group, OperationId } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import type { FailureReason } from '../../exchange/failures/errors.ts'
import { epochMs } from '../../lib/clock.ts'
import type { OverridesView } from '../../runtime/overrides.ts'
import { listDifferingFiles } from '../../runtime/reload/config-drift.ts'
import type { StatusReport } from '../../runtime/status/status-part.ts'
import type { AdminContext } from '../admin-context.ts'
import type { Found, FoundOrNot } from './finding.ts'

export interface RecentTraffic {
  readonly requests: number
  /** The upstream's own 5xx responses, relayed. */
  readonly passedOn: number
  /** 5xx responses of the cache. */
  readonly storedErrors: number
}

export const collectOwnInputs = (
  context: AdminContext,
  report: StatusReport,
  drifted: readonly string[],
  findingParts: readonly FindingPart[],
) => {
  const { config, file, state, previous } = context.reloader
  const overrides: OverridesView = context.overrides
  const isEdit = state.loadedBy !== 'start' && state.loadedBy !== 'rollback' && previous !== null
  return {
    at: epochMs(),
    config,
    loadedAt: state.loadedAt,
    /** Null: there is no edit to roll back. */
    undoableEditAt: isEdit ? state.loadedAt : null,
    file: {
      name: resolve(file),
      differing: listDifferingFiles(context.reloader, drifted),
      rolledBack: state.loadedBy === 'rollback',
      rejection: state.rejection,
      nextTryAt: state.nextTryAt,
    },
    report,
    /** Of the last minute, or since the first sample; null: not counted. */
    recent: null as Readonly<Record<OperationId, RecentTraffic>> | null,
    overrides,
    parts: context.parts,
    /** An input because of an import cycle: features import this file. */
    findingParts,
    findClients: context.findClients,
    notServing: context.notServing(),
    draining: context.draining(),
    droppedLines: context.droppedLines(),
  }
}

/** Times are milliseconds since the epoch. */
export interface FindingInputs extends Readonly<ReturnType<typeof collectOwnInputs>> {}

export type FindingSource = (inputs: FindingInputs) => FoundOrNot

export interface FindingPart {
  /** Finds problems of a group that has a serving endpoint. */
  findOfGroup?(group: Group, inputs: FindingInputs): Found
  describeClientErrors?(reason: FailureReason | null, config: Config): ClientErrorNote | null
}

export interface ClientErrorNote {
  /** The key of the senders, where these are not clients and get no response. */
  readonly senders?: string
  readonly note?: string
}
