import type { Group } from '../../../operations.ts'
import type { FailureKind } from '../../exchange/failures/kinds.ts'
import type { ErrorCount } from '../../log/recent-errors/error-counts.ts'
import { pluck, sum } from '../../log/sum-reports.ts'
import type { StatusReport } from '../../runtime/report/status-report.ts'
import { pluralize } from '../commands/phrases.ts'
import { groupOfOperation } from './finding.ts'

/** Fewer in a minute may be a hiccup of one connection, and are a warning. */
export const minFailures = 3

// In milliseconds. Where none has failed for that long, requests fail no more: the cause is gone, or others help.
const quietMs = 15_000

/** Times are milliseconds since the epoch. */
export interface FailureTally {
  readonly lastMinute: number
  readonly last15Min: number
  readonly firstAt: number | null
  readonly lastAt: number | null
}

export const tallyFailures = (causes: readonly ErrorCount[]): FailureTally => ({
  lastMinute: sum(pluck(causes, 'lastMinute')),
  last15Min: sum(pluck(causes, 'last15Min')),
  firstAt: causes.length === 0 ? null : Math.min(...causes.map(({ firstAt }) => firstAt)),
  lastAt: causes.length === 0 ? null : Math.max(...causes.map(({ lastAt }) => lastAt)),
})

/** `lastAt`: when one failed last; `at`: now. */
export const isQuiet = (lastAt: number, at: number): boolean => at - lastAt >= quietMs

/** Checks whether at least half of the requests fail. */
export const areMostFailing = (failures: number, requests: number): boolean => failures * 2 >= requests

/** Formats how many requests it was, and when: `12 requests were refused with 401 in the last minute`. */
export const countPhrase = (
  { lastMinute, last15Min }: Pick<FailureTally, 'lastMinute' | 'last15Min'>,
  what: 'failed' | 'refused' | `refused with ${number}` | 'closed at once',
  subject = 'request',
): string => {
  const count = lastMinute > 0 ? lastMinute : last15Min
  const verb = what === 'failed' ? what : `${count === 1 ? 'was' : 'were'} ${what}`
  const when = lastMinute > 0 ? 'in the last minute' : 'in the last 15 minutes, none in the last minute'
  return `${pluralize(count, subject)} ${verb} ${when}`
}

/** Sums the rejections of one kind of failure, of the operations of a group where one is given. */
export const tallyRejected = ({ recentErrors }: StatusReport, kind: FailureKind, group?: Group): FailureTally =>
  tallyFailures(
    recentErrors.causes.filter(
      (each) =>
        each.kind === kind &&
        (group === undefined || (each.operation !== null && groupOfOperation(each.operation) === group)),
    ),
  )

/** Formats how many requests were rejected, after a colon; empty: none was of late. */
export const rejectedPhrase = (refused: FailureTally): string =>
  refused.last15Min === 0 ? '' : `: ${countPhrase(refused, 'refused')}`
