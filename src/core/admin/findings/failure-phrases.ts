import { type Group, type OperationId, operationsById } from '../../../operations.ts'
import type { Config } from '../../config/config.ts'
import { type AttemptReport, type FailureReason, lastFailurePhrase } from '../../exchange/failures/errors.ts'
import type { FailureKind } from '../../exchange/failures/failure-table.ts'
import { formatDuration, formatSize } from '../../lib/text/units.ts'
import type { ErrorCount } from '../../log/recent-errors.ts'
import { groupByKey, pluck, sum } from '../../log/sum-reports.ts'
import type { EndpointReport } from '../../runtime/status/endpoint.ts'
import type { StatusReport } from '../../runtime/status/status-part.ts'
import { pluralize } from '../commands/phrases.ts'
import { joinWithAnd } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

export const recentMs = 60_000

/** Fewer failures in a minute are a warning: one broken connection may cause them. */
export const minFailures = 3

// After that time without a failure, the cause is gone or other endpoints took over.
const quietMs = 15_000

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

export const isQuiet = (lastAt: number, at: number): boolean => at - lastAt >= quietMs

export const areMostFailing = (failures: number, requests: number): boolean => failures * 2 >= requests

/** `12 requests were rejected with 401 in the last minute`. */
export const countPhrase = (
  { lastMinute, last15Min }: Pick<FailureTally, 'lastMinute' | 'last15Min'>,
  what: 'failed' | 'rejected' | `rejected with ${number}` | 'closed at once',
  subject = 'request',
): string => {
  const count = lastMinute > 0 ? lastMinute : last15Min
  const verb = what === 'failed' ? what : `${count === 1 ? 'was' : 'were'} ${what}`
  const when = lastMinute > 0 ? 'in the last minute' : 'in the last 15 minutes, none in the last minute'
  return `${pluralize(count, subject)} ${verb} ${when}`
}

export const tallyRejected = ({ recentErrors }: StatusReport, kind: FailureKind, group?: Group): FailureTally =>
  tallyFailures(
    recentErrors.causes.filter(
      (each) =>
        each.kind === kind &&
        (group === undefined || (each.operation !== null && groupOfOperation(each.operation) === group)),
    ),
  )

export const rejectedPhrase = (rejected: FailureTally): string =>
  rejected.last15Min === 0 ? '' : `: ${countPhrase(rejected, 'rejected')}`

export const maxBodyPhrase = (same: readonly Pick<ErrorCount, 'kind' | 'operation'>[], config: Config): string => {
  if (same[0]?.kind !== 'content-too-large') return ''
  const [limit, ...others] = new Set(
    same.map(({ operation }) => (operation === null ? null : config.operations[operation].maxBody)),
  )
  return limit == null || others.length > 0 ? '' : ` (${formatSize(limit)})`
}

/** `http://risk-a:8080 refuses connections (ECONNREFUSED)`. */
export const causePhrase = (
  { kind, reason, operation, lastAt }: ErrorCount,
  endpoint: string,
  inputs: Pick<FindingInputs, 'config' | 'loadedAt'>,
): string =>
  lastFailurePhrase({ kind, reason, status: null }, endpoint) +
  (operation === null ? '' : limitPhrase({ kind, at: lastAt }, groupOfOperation(operation), inputs, operation))

/** Empty for a failure before the last edit: the limit may have been another. */
export const limitPhrase = (
  { kind, at }: Pick<AttemptReport, 'kind' | 'at'>,
  group: Group,
  { config, loadedAt }: Pick<FindingInputs, 'config' | 'loadedAt'>,
  id: OperationId | null = null,
): string => {
  if (at < loadedAt) return ''
  const { connect, headers } = config.upstreams[group].timeouts
  const deadlineMs = id === null ? null : config.operations[id].deadline
  const limitMs = {
    'connect-timeout': connect,
    'headers-timeout': headers,
    'deadline-exceeded': deadlineMs,
  }[kind as string]
  return limitMs == null ? '' : ` (${formatDuration(limitMs)})`
}

export const groupOfOperation = (id: OperationId): Group => operationsById[id].group

// The network, a resolver, a clock or this gateway may be the cause, and not the endpoint.
const doubtfulReasons: ReadonlySet<FailureReason | null> = new Set([
  'unreachable',
  'not-connected-in-time',
  'name-not-found',
  'name-server-silent',
  'no-descriptors',
  'no-ports',
  'other-connect-failure',
  'certificate-not-yet-valid',
  'rejects-certificate',
] as const)

const ownCertificate: ReadonlySet<FailureReason | null> = new Set([
  'certificate-expired',
  'certificate-revoked',
] as const)

/** Says whose fault it is, and how that is known. `loadedAt`: an edit since may be the fault. */
export const ownerDetails = (
  endpoints: readonly EndpointReport[],
  { loadedAt }: Pick<FindingInputs, 'loadedAt'>,
): readonly string[] =>
  groupByKey(
    endpoints.flatMap((each) => {
      const how = findHow(each, loadedAt)
      return how === null ? [] : [{ how, url: each.url }]
    }),
    ({ how }) => how,
  ).map((same) => {
    const urls = same.map(({ url }) => url)
    return `the owner of ${joinWithAnd(urls)} must fix this: ${same[0].how}`
  })

const findHow = ({ lastFailure, failingSince, succeededAt }: EndpointReport, loadedAt: number): string | null => {
  if (lastFailure === null || failingSince === null) return null
  const { kind, reason } = lastFailure
  if (kind === null) return 'the error is in the response itself'
  if (ownCertificate.has(reason)) return 'the endpoint itself shows that certificate'
  if (succeededAt === null || succeededAt < loadedAt || kind === 'connect-timeout' || doubtfulReasons.has(reason))
    return null
  return 'nothing has changed here since the last good response'
}

const contractKinds: ReadonlySet<FailureKind> = new Set([
  'invalid-request',
  'unsupported-media-type',
  'invalid-response',
])

export const isContractFailure = ({ kind, reason }: Pick<ErrorCount, 'kind' | 'reason'>): boolean =>
  contractKinds.has(kind) || reason === 'contract-body-too-large'
