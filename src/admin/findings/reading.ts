import { resolve } from 'node:path'
import { byOperation, type OperationId } from '../../catalog.ts'
import { wallClock } from '../../clock.ts'
import type { Config } from '../../config/config.ts'
import type { Problem } from '../../config/problem.ts'
import type { WriterState } from '../../observe/audit/writer.ts'
import type { Said } from '../../snapshot/overrides.ts'
import type { NotServing, Report, WorkerState } from '../../snapshot/report.ts'
import type { Desk } from '../desk.ts'
import type { Recent } from '../history.ts'

/** Is all that is known of the gateway at one moment: what findings are made of. Times are milliseconds since the epoch. */
export interface Reading {
  readonly at: number
  readonly config: Config
  readonly file: FileReading
  readonly report: Report
  /** What each operation was asked in the last minute; null: nothing is counted. */
  readonly recent: Readonly<Record<OperationId, Recent>> | null
  /** What operators have said for a while. */
  readonly said: Said
  /** Null: there is no audit log, or another process writes it. */
  readonly audit: WriterState | null
  /** None: one process does all. */
  readonly workers: readonly WorkerState[]
  /** Why no client is served; null: clients are. */
  readonly notServing: NotServing | null
  readonly draining: boolean
  /** Log lines that were dropped since the start. */
  readonly droppedLines: number
}

/** Is how the file stands to what runs. */
export interface FileReading {
  readonly name: string
  readonly differs: boolean
  /** Whether what runs was brought back. */
  readonly rolledBack: boolean
  readonly refusal: { readonly at: number; readonly problems: readonly Problem[] } | null
  /** When an edit that is held back is tried again; null: none is. */
  readonly nextTryAt: number | null
}

/** Reads from the desk what findings are made of. `isUnread`: the file holds something else than when it was last read. */
export const readingOf = (desk: Desk, report: Report, isUnread: boolean): Reading => {
  const { config, file, state } = desk.reloader
  return {
    at: wallClock(),
    config,
    file: {
      name: resolve(file),
      differs: state.fileDiffers || isUnread,
      rolledBack: state.loadedBy === 'rollback',
      refusal: state.refusal,
      nextTryAt: state.nextTryAt,
    },
    report,
    recent: recentOf(desk, report),
    said: desk.overrides,
    audit: desk.audit.state,
    workers: desk.workers(),
    notServing: desk.notServing(),
    draining: desk.draining(),
    droppedLines: desk.droppedLines(),
  }
}

const recentOf = ({ history }: Desk, { meter }: Report): Reading['recent'] =>
  meter && byOperation(({ id }) => history.recent(id, meter))
