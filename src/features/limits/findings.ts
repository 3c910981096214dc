import {
  areMostFailing,
  countPhrase,
  isQuiet,
  minFailures,
  tallyFailures,
} from '../../core/admin/findings/failure-tally.ts'
import {
  createFinding,
  type Finding,
  groupOfOperation,
  joinWithAnd,
  type Severity,
  wherePhrase,
} from '../../core/admin/findings/finding.ts'
import { explainCommandLine, tailCommand } from '../../core/admin/findings/finding-commands.ts'
import type { FindingInputs } from '../../core/admin/findings/finding-inputs.ts'
import type { FailureReason } from '../../core/exchange/failures/reasons.ts'
import type { ErrorCount } from '../../core/log/recent-errors/error-counts.ts'
import { groupByKey } from '../../core/log/row-counts.ts'
import { sum } from '../../core/log/sum-reports.ts'
import type { RateLimitReport } from './rate-limits.ts'

export const limitFindings = (inputs: FindingInputs): readonly Finding[] => [
  ...rejectingLimitFindings(inputs),
  ...fullLimitFindings(inputs),
  ...fullEndpointFindings(inputs),
  ...fullBodyRoomFindings(inputs),
  ...connectionFindings(inputs),
  ...redisFindings(inputs),
]

type LimitError = ErrorCount & { readonly operation: NonNullable<ErrorCount['operation']> }

const hasReason =
  (...reasons: readonly FailureReason[]) =>
  (cause: ErrorCount): cause is LimitError =>
    cause.operation !== null && reasons.some((reason) => reason === cause.reason)

const limitKey = ({ reason, operation }: LimitError): string => {
  if (reason === 'limits-concurrency') return 'limits.concurrency'
  return reason === 'upstream-concurrency'
    ? `upstreams.${groupOfOperation(operation)}.concurrency`
    : `operations.${operation}.concurrency`
}

const isConcurrencyError = hasReason('limits-concurrency', 'upstream-concurrency', 'operation-concurrency')

const rejectingLimitFindings = (inputs: FindingInputs): readonly Finding[] =>
  groupByKey(inputs.report.recentErrors.causes.filter(isConcurrencyError), limitKey).map((same) => {
    const [first] = same
    const key = limitKey(first)
    const state = inputs.report.limits.concurrency.find((each) => each.key === key)
    const now = state === undefined ? '' : `, ${state.inFlight} of ${state.limit} in flight now`
    const tally = tallyFailures(same)
    // A limit that the running configuration does not have refuses nothing any more.
    const is = state !== undefined && state.inFlight >= state.limit ? 'is' : 'was'
    const cause = `${key} ${is} full: ${countPhrase(tally, 'refused')}${now}`
    const command = explainCommandLine(first.operation, inputs.config)
    return createFinding(rejectionSeverity(same, inputs), key, cause, { since: tally.firstAt, command })
  })

/** Says how bad it is that requests find no room: critical while at least half of those for their operations do not. */
const rejectionSeverity = (same: readonly LimitError[], { at, recent }: FindingInputs): Severity => {
  const { lastMinute, lastAt } = tallyFailures(same)
  if (lastMinute === 0 || lastAt === null) return 'notice'
  if (recent === null || lastMinute < minFailures || isQuiet(lastAt, at)) return 'warning'
  const operations = [...new Set(same.map(({ operation }) => operation))]
  const requests = sum(operations.map((id) => recent[id].requests))
  return areMostFailing(lastMinute, requests) ? 'critical' : 'warning'
}

/** Finds limits that are full, but have rejected no request yet. */
const fullLimitFindings = ({ report }: FindingInputs): readonly Finding[] => {
  const refused = new Set(report.recentErrors.causes.filter(isConcurrencyError).map(limitKey))
  return report.limits.concurrency
    .filter(({ key, inFlight, limit }) => inFlight >= limit && !refused.has(key))
    .map(({ key, inFlight, limit }) =>
      createFinding('notice', key, `${key} is full: ${inFlight} of ${limit} in flight; the next request is refused`),
    )
}

/** Finds groups whose endpoints have no room for more, or none for one of the clients. */
const fullEndpointFindings = (inputs: FindingInputs): readonly Finding[] =>
  groupByKey(
    inputs.report.recentErrors.causes.filter(hasReason('endpoint-connections', 'endpoint-share')),
    ({ operation, reason }) => `${groupOfOperation(operation)} ${reason}`,
  ).map((same) => {
    const [{ operation, reason }] = same
    const group = groupOfOperation(operation)
    const tally = tallyFailures(same)
    const full =
      reason === 'endpoint-share'
        ? `a client holds its share of the places at the endpoints of ${group}`
        : `all places at the endpoints of ${group} are taken`
    const cause = `${full} (maxConnections, maxPending): ${countPhrase(tally, 'refused')}`
    const command = explainCommandLine(operation, inputs.config)
    return createFinding(rejectionSeverity(same, inputs), `upstreams.${group}`, cause, {
      since: tally.firstAt,
      command,
    })
  })

/** Finds that bodies which the contract or idempotency reads whole have no room. The room is that of a process. */
const fullBodyRoomFindings = (inputs: FindingInputs): readonly Finding[] => {
  const same = inputs.report.recentErrors.causes.filter(hasReason('buffered-bodies'))
  if (same.length === 0) return []
  const operations = [...new Set(same.map(({ operation }) => operation))]
  const tally = tallyFailures(same)
  const cause = `too many bodies wait in memory, of ${joinWithAnd(operations)}: ${countPhrase(tally, 'refused')}`
  return [
    createFinding(rejectionSeverity(same, inputs), 'limits', cause, { since: tally.firstAt, command: tailCommand }),
  ]
}

/** Finds limits that close connections at once: the client gets no response, and the access log has no line. */
const connectionFindings = ({ report, config }: FindingInputs): readonly Finding[] =>
  report.rejectedConnections.map(({ setting, firstAt, ...counts }) => {
    const key = `listen.${setting}`
    // Not that it is reached: an edit may have raised it, or clients may have left.
    const cause = `${key} was reached: ${countPhrase(counts, 'closed at once', 'connection')}; it is ${config.listen[setting] ?? 'none'} now`
    const severity = counts.lastMinute > 0 && setting === 'maxConnections' ? 'warning' : 'notice'
    return createFinding(severity, key, cause, { since: firstAt })
  })

const redisFindings = ({ config, file, report: { limits, cache } }: FindingInputs): readonly Finding[] => {
  const found: Finding[] = []
  const { rate } = limits
  const command = `lender-gateway check --online ${file.name}` // tries each Redis
  if (rate?.store === 'redis' && rate.state === 'local') {
    const rejectsProofs = config.auth?.dpop?.withoutRedis === 'refuse'
    const cause = `${redisGone(rate)}: ${unsharedPhrases(config).join(', and ')}`
    found.push(createFinding(rejectsProofs ? 'critical' : 'warning', 'redis', cause, { since: rate.since, command }))
  }
  if (cache?.redis?.state === 'local') {
    const cause = `${redisGone(cache.redis)}: this gateway has in its cache what it has stored itself`
    found.push(createFinding('warning', 'redis', cause, { since: cache.redis.since, command }))
  }
  return found
}

const unsharedPhrases = ({ auth, limits, clients }: FindingInputs['config']): readonly string[] => {
  const proofs = auth?.dpop?.withoutRedis
  return [
    ...(proofs === 'refuse' ? ['requests with a DPoP proof are refused (auth.dpop.withoutRedis: refuse)'] : []),
    ...(proofs === 'serve' ? ['a DPoP proof is good once at each gateway (auth.dpop.withoutRedis: serve)'] : []),
    ...(limits.address !== null || clients.some(({ rate }) => rate !== null)
      ? ['this gateway counts the rates of clients by itself, so several gateways let more through']
      : []),
  ]
}

const redisGone = ({ server, reason, where }: Pick<RateLimitReport, 'server' | 'reason' | 'where'>): string =>
  `Redis (${server}) cannot be asked${wherePhrase({ where })}${reason === null ? '' : ` (${reason})`}`
