import type { Violation } from '../../core/exchange/failures/errors.ts'
import { mergeBy, type NonEmpty, pluck, sum, sumReports } from '../../core/log/sum-reports.ts'
import { known } from '../../core/runtime/status/field.ts'
import type { ReportSection, TotalReport } from '../../core/runtime/status/status-part.ts'
import type { OperationId } from '../../operations.ts'
import type { UncheckedReason } from './check/check-message.ts'
import { keepWorstRows, mergeRowCounts, type RowCounts } from './counted-rows.ts'

export const messageDirections = ['request', 'response'] as const

export type MessageDirection = (typeof messageDirections)[number]

/** What is looked for in the log: a message that broke the contract. */
export interface DriftExample {
  /** Its id in `clients`; its address, where no client is authenticated. */
  readonly client: string
  /** Null: it was sent nowhere. */
  readonly endpoint: string | null
  /** Null: no field carries one. */
  readonly requestId: string | null
}

export interface BrokenRule extends Violation {
  readonly operation: OperationId
  readonly direction: MessageDirection
}

export type DriftRow = BrokenRule & RowCounts<DriftExample>

export interface DriftTotals {
  readonly operation: OperationId
  readonly direction: MessageDirection
  /** Those that kept the contract and those that broke it. */
  readonly checked: number
  readonly broken: number
  /** Those of the broken that were rejected. */
  readonly rejected: number
  /** Messages whose head kept the contract, and whose body was not read. */
  readonly unchecked: Readonly<Record<UncheckedReason, number>>
}

/**
 * What was checked of one operation and direction in the last five minutes; of responses, by endpoint. Times are
 * milliseconds since the epoch.
 */
export interface RecentDrift {
  readonly operation: OperationId
  readonly direction: MessageDirection
  /** Null: requests, or responses of further endpoints. */
  readonly endpoint: string | null
  readonly checked: number
  readonly broken: number
  /** The first broken message after five minutes without one. Null: none is broken. */
  readonly brokenSince: number | null
  readonly lastBrokenAt: number | null
}

/** What processes know of messages that broke a contract, as plain data. */
export interface DriftReport {
  readonly digest: string
  /** Since when it counts, in milliseconds since the epoch. Null: no process counts yet. */
  readonly since: number | null
  readonly totals: readonly DriftTotals[]
  readonly recent: readonly RecentDrift[]
  /** The worst first. */
  readonly rows: readonly DriftRow[]
  /** How often messages broke it in further ways, each way of a message counted. */
  readonly others: number
}

/** So many rows are kept; further ways are only counted. */
export const maxDriftRows = 200

/** Finds the counts of one direction of an operation: zeros where no message has come yet. */
export const totalsOf = (drift: DriftReport | null, operation: OperationId, direction: MessageDirection): DriftTotals =>
  drift?.totals.find((each) => each.operation === operation && each.direction === direction) ?? {
    operation,
    direction,
    checked: 0,
    broken: 0,
    rejected: 0,
    unchecked: zeroUnchecked,
  }

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

/** Merges what several processes know of the contract with that digest; reports on another one are left out. */
export const mergeDriftReports = (digest: string, each: readonly DriftReport[]): DriftReport => {
  const same = each.filter((one) => one.digest === digest)
  const rows = mergeBy(
    same.flatMap((one) => one.rows),
    (row) => driftRowKey(row.operation, row.direction, row),
    mergeRowCounts,
  )
  return {
    digest,
    since: extreme(Math.min, pluck(same, 'since')),
    totals: mergeBy(
      same.flatMap(({ totals }) => totals),
      ({ operation, direction }) => `${operation} ${direction}`,
      (all) => sumReports(all[0], all),
    ),
    recent: mergeBy(
      same.flatMap(({ recent }) => recent),
      ({ operation, direction, endpoint }) => `${operation} ${direction} ${endpoint}`,
      mergeRecent,
    ),
    ...keepWorstRows(
      rows,
      maxDriftRows,
      same.map(({ others }) => others),
    ),
  }
}

/** Returns what stays of a process that has ended: nothing of it is recent. */
export const withoutRecentDrift = (report: DriftReport): DriftReport => ({
  ...report,
  recent: [],
  rows: report.rows.map((row) => ({ ...row, recent: 0 })),
})

const mergeRecent = (same: NonEmpty<RecentDrift>): RecentDrift => ({
  ...same[0],
  checked: sum(same.map(({ checked }) => checked)),
  broken: sum(same.map(({ broken }) => broken)),
  brokenSince: extreme(Math.min, pluck(same, 'brokenSince')),
  lastBrokenAt: extreme(Math.max, pluck(same, 'lastBrokenAt')),
})

const extreme = (pick: (...times: readonly number[]) => number, times: readonly number[]): number | null =>
  times.length === 0 ? null : pick(...times)

declare module '../../core/runtime/status/report.ts' {
  interface StatusReport {
    /** What breaks the contract. Null: there is none. */
    readonly drift: DriftReport | null
  }
}

export const reported: readonly ReportSection[] = [
  {
    key: 'drift',
    field: known<DriftReport>((workers, { digest }) => mergeDriftReports(digest, workers)),
    collect: ({ parts }) => parts.contract.driftCounts?.report ?? null,
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
