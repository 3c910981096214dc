import type { Violation } from '../../core/exchange/failures/errors.ts'
import { mergeBy, type NonEmpty, pluck, sum, sumReports } from '../../core/log/sum-reports.ts'
import { known } from '../../core/runtime/status/field.ts'
import type { ReportSection, TotalReport } from '../../core/runtime/status/status-part.ts'
import type { OperationId } from '../../operations.ts'
import type { UncheckedReason } from './check/check-message.ts'
import { keepWorstRows, mergeRowCounts, type RowCounts } from './counted-rows.ts'

export const messageDirections = ['request', 'response'] as const

export type MessageDirection = (typeof messageDirections)[number]

export interface DriftExample {
  /** The id in `clients`, or the address of an unauthenticated client. */
  readonly client: string
  /** Null: the request was sent to no endpoint. */
  readonly endpoint: string | null
  readonly requestId: string | null
}

interface MessageKind {
  readonly operation: OperationId
  readonly direction: MessageDirection
}

export type BrokenRule = Violation & MessageKind

export type DriftRow = BrokenRule & RowCounts<DriftExample>

export type DriftTotals = ReturnType<typeof noTotals>

export interface RecentDrift extends MessageKind {
  /** Null: requests, or responses of endpoints beyond the first 32. */
  readonly endpoint: string | null
  readonly checked: number
  readonly broken: number
  /** The first broken message after five minutes without one; null: none is broken. */
  readonly brokenSince: number | null
  readonly lastBrokenAt: number | null
}

export interface DriftReport {
  readonly digest: string
  /** Null: no process counts yet. */
  readonly since: number | null
  readonly totals: readonly DriftTotals[]
  readonly recent: readonly RecentDrift[]
  readonly rows: readonly DriftRow[]
  readonly others: number
}

export const maxDriftRows = 200

export const totalsOf = (drift: DriftReport | null, operation: OperationId, direction: MessageDirection): DriftTotals =>
  drift?.totals.find((each) => each.operation === operation && each.direction === direction) ??
  noTotals(operation, direction)

/** `rejected`: part of `broken`. `unchecked`: the head kept the contract, and the body was not read. */
export const noTotals = (operation: OperationId, direction: MessageDirection) => ({
  ...{ operation, direction, checked: 0, broken: 0, rejected: 0 },
  unchecked: zeroUnchecked,
})

export const zeroUnchecked: Readonly<Record<UncheckedReason, number>> = {
  'too-large': 0,
  coded: 0,
  'not-json': 0,
  partial: 0,
  'too-complex': 0,
  busy: 0,
}

export const driftRowKey = (
  operation: OperationId,
  direction: MessageDirection,
  { in: place, pointer, rule }: Pick<Violation, 'in' | 'pointer' | 'rule'>,
): string => `${operation} ${direction} ${place} ${pointer} ${rule}`

export const mergeDriftReports = (digest: string, each: readonly DriftReport[]): DriftReport => {
  const same = each.filter((one) => one.digest === digest)
  const all = {
    totals: same.flatMap(({ totals }) => totals),
    recent: same.flatMap(({ recent }) => recent),
    rows: same.flatMap(({ rows }) => rows),
  }
  const rows = mergeBy(all.rows, (row) => driftRowKey(row.operation, row.direction, row), mergeRowCounts)
  const kindOf = ({ operation, direction }: MessageKind): string => `${operation} ${direction}`
  return {
    digest,
    since: extreme(Math.min, pluck(same, 'since')),
    totals: mergeBy(all.totals, kindOf, (each) => sumReports(each[0], each)),
    recent: mergeBy(all.recent, (each) => `${kindOf(each)} ${each.endpoint}`, mergeRecent),
    ...keepWorstRows(rows, maxDriftRows, pluck(same, 'others')),
  }
}

export const withoutRecentDrift = (report: DriftReport): DriftReport => ({
  ...report,
  recent: [],
  rows: report.rows.map((row) => ({ ...row, recent: 0 })),
})

const mergeRecent = (same: NonEmpty<RecentDrift>): RecentDrift => ({
  ...same[0],
  checked: sum(pluck(same, 'checked')),
  broken: sum(pluck(same, 'broken')),
  brokenSince: extreme(Math.min, pluck(same, 'brokenSince')),
  lastBrokenAt: extreme(Math.max, pluck(same, 'lastBrokenAt')),
})

const extreme = (pick: (...times: readonly number[]) => number, times: readonly number[]): number | null =>
  times.length === 0 ? null : pick(...times)

declare module '../../core/runtime/status/status-part.ts' {
  interface StatusReport {
    readonly drift: DriftReport | null
  }
}

export const reported: readonly ReportSection[] = [
  {
    key: 'drift',
    field: known<DriftReport>((workers, { digest }) => mergeDriftReports(digest, workers)),
    collect: ({ parts }) => parts.contract?.driftCounts?.report ?? null,
  },
]

const driftTables: TotalReport<DriftReport> = {
  name: 'drift',
  list: ({ drift }) => (drift === null ? [] : [['', drift]]),
  replace: (report, _, drift) => ({ ...report, drift }),
  merge: mergeDriftReports,
  settle: withoutRecentDrift,
}

export const totals: readonly TotalReport[] = [driftTables]
