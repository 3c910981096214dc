import type {
  DescribedField,
  DescribeOperation,
  PlacedFindings,
  PlacedMetrics,
  PlacedStatus,
} from '../../core/admin/admin-part.ts'
import {
  areMostFailing,
  countPhrase,
  groupOfOperation,
  isQuiet,
  minFailures,
  rejectedPhrase,
  tallyFailures,
} from '../../core/admin/findings/failure-phrases.ts'
import {
  checkCommandLine,
  explainCommandLine,
  finding,
  joinWithAnd,
  type Severity,
  tailCommand,
  wherePhrase,
} from '../../core/admin/findings/finding.ts'
import type { FindingInputs, FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import {
  addUp,
  counter,
  gauge,
  type MetricDefinitions,
  type MetricInputs,
  seriesFor,
} from '../../core/admin/metrics/metric.ts'
import { type FailureReason, reasonsFor } from '../../core/exchange/failures/errors.ts'
import type { FailureKind } from '../../core/exchange/failures/failure-table.ts'
import { commandLine } from '../../core/lib/program.ts'
import { formatDuration } from '../../core/lib/text/units.ts'
import type { ErrorCount } from '../../core/log/recent-errors.ts'
import { groupByKey, sum } from '../../core/log/sum-reports.ts'
import { fromReport, type Shown } from '../../core/runtime/status/field.ts'
import { redisGone } from '../redis/redis-settings.ts'
import { limitsField } from './status.ts'

const rejectedKinds: readonly FailureKind[] = [
  'bad-request',
  'header-too-large',
  'request-timeout',
  'client-gone',
  'content-too-large',
  'invalid-request',
  'rejected-by-operator',
]

const countsOfKinds = (...kinds: readonly FailureKind[]) =>
  seriesFor(['reason'], ({ requestMetrics }: MetricInputs) => {
    const all = Object.values(requestMetrics.operations).flatMap(({ reasons }) => reasons)
    return addUp([
      ...reasonsFor(...kinds).map((reason) => [reason, 0] as const),
      ...all.filter(({ failure }) => kinds.includes(failure)).map(({ reason, count }) => [reason, count] as const),
    ])
  })

const concurrency = seriesFor(['limit'], ({ report }) => report.limits.concurrency.map((each) => [each.key, each]))

const limitMetrics: MetricDefinitions = {
  concurrency_in_flight: concurrency.gauge('Requests that a limit of concurrency counts now.', 'inFlight'),
  concurrency_limit: concurrency.gauge('The limit of concurrency.', 'limit'),
  sheds_total: countsOfKinds('overloaded').counter('Requests rejected with 503 because a limit was full.'),
  rate_limited_total: countsOfKinds('rate-limited').counter(
    'Requests rejected with 429 because an address or a client exceeded its rate.',
  ),
  rejections_total: countsOfKinds(...rejectedKinds).counter(
    'Requests rejected as malformed, too large, too slow, or of an operation out of service.',
  ),
  rate_limits_shared: gauge(
    'Whether gateways count rates and DPoP proofs together (1), or each alone without Redis (0); with limits.redis only.',
    ({ report: { limits } }) => (limits.rate?.store === 'redis' ? limits.rate.state === 'shared' : null),
  ),
  rate_keys_forgotten_total: counter(
    'Rate counters forgotten early for lack of room.',
    ({ report }) => report.limits.rate?.evictions,
  ),
  load_shedding: gauge(
    'Whether a worker rejects new requests because its event loop is late (1).',
    ({ report }) => report.limits.eventLoop?.sheds,
  ),
  load_shedding_limit_seconds: gauge(
    'Delay of the event loop from which new requests are rejected.',
    ({ report: { limits } }) => limits.eventLoop && limits.eventLoop.limitMs / 1000,
  ),
}

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

const rejectingLimitFindings: FindingSource = (inputs) =>
  groupByKey(inputs.report.recentErrors.causes.filter(isConcurrencyError), limitKey).map((same) => {
    const [first] = same
    const key = limitKey(first)
    const state = inputs.report.limits.concurrency.find((each) => each.key === key)
    const tally = tallyFailures(same)
    const command = explainCommandLine(first.operation, inputs.config)
    const facts = { key, state, tally, since: tally.firstAt, command }
    return finding('limit-rejects', rejectionSeverity(same, inputs), key, facts, ({ key, state, tally }) => {
      const now = state === undefined ? '' : `, ${state.inFlight} of ${state.limit} in flight now`
      // A limit that is no longer configured rejects nothing now.
      const is = state !== undefined && state.inFlight >= state.limit ? 'is' : 'was'
      return [`${key} ${is} full: ${countPhrase(tally, 'rejected')}${now}`]
    })
  })

/** Critical while at least half of the operations' requests are rejected. */
const rejectionSeverity = (same: readonly LimitError[], { at, recent }: FindingInputs): Severity => {
  const { lastMinute, lastAt } = tallyFailures(same)
  if (lastMinute === 0 || lastAt === null) return 'notice'
  if (recent === null || lastMinute < minFailures || isQuiet(lastAt, at)) return 'warning'
  const operations = [...new Set(same.map(({ operation }) => operation))]
  const requests = sum(operations.map((id) => recent[id].requests))
  return areMostFailing(lastMinute, requests) ? 'critical' : 'warning'
}

/** Full, but has rejected no request yet. */
const fullLimitFindings: FindingSource = ({ report }) => {
  const rejected = new Set(report.recentErrors.causes.filter(isConcurrencyError).map(limitKey))
  return report.limits.concurrency
    .filter(({ key, inFlight, limit }) => inFlight >= limit && !rejected.has(key))
    .map((state) =>
      finding('limit-full', 'notice', state.key, state, ({ key, inFlight, limit }) => [
        `${key} is full: ${inFlight} of ${limit} in flight; the next request is rejected`,
      ]),
    )
}

const fullEndpointFindings: FindingSource = (inputs) =>
  groupByKey(
    inputs.report.recentErrors.causes.filter(hasReason('endpoint-connections', 'endpoint-share')),
    ({ operation, reason }) => `${groupOfOperation(operation)} ${reason}`,
  ).map((same) => {
    const [{ operation, reason }] = same
    const group = groupOfOperation(operation)
    const tally = tallyFailures(same)
    const command = explainCommandLine(operation, inputs.config)
    const facts = { group, isShare: reason === 'endpoint-share', tally, since: tally.firstAt, command }
    return finding('endpoints-full', rejectionSeverity(same, inputs), `upstreams.${group}`, facts, (facts) => {
      const full = facts.isShare
        ? `a client holds its share of the places at the endpoints of ${facts.group}`
        : `all places at the endpoints of ${facts.group} are taken`
      return [`${full} (maxConnections, maxPending): ${countPhrase(facts.tally, 'rejected')}`]
    })
  })

/** Each process has its own room. */
const fullBodyRoomFindings: FindingSource = (inputs) => {
  const same = inputs.report.recentErrors.causes.filter(hasReason('buffered-bodies'))
  if (same.length === 0) return null
  const operations = [...new Set(same.map(({ operation }) => operation))]
  const tally = tallyFailures(same)
  const facts = { operations, tally, since: tally.firstAt, command: tailCommand }
  return finding('bodies-full', rejectionSeverity(same, inputs), 'limits', facts, ({ operations, tally }) => [
    `too many bodies wait in memory, of ${joinWithAnd(operations)}: ${countPhrase(tally, 'rejected')}`,
  ])
}

/** Such connections get no response and no access line. */
const connectionFindings: FindingSource = ({ report, config }) =>
  report.rejectedConnections.map(({ setting, firstAt: since, ...counts }) => {
    const key = `listen.${setting}`
    const severity = counts.lastMinute > 0 && setting === 'maxConnections' ? 'warning' : 'notice'
    const facts = { key, limit: config.listen[setting], counts, since }
    // In the past tense: an edit may have raised the limit, or clients have left.
    return finding('connections-full', severity, key, facts, ({ key, limit, counts }) => [
      `${key} was reached: ${countPhrase(counts, 'closed at once', 'connection')}; it is ${limit ?? 'none'} now`,
    ])
  })

const loadFindings: FindingSource = ({ report: { limits, recentErrors } }) => {
  const { eventLoop: loop } = limits
  const shed = tallyFailures(recentErrors.causes.filter(({ reason }) => reason === 'event-loop'))
  if (loop?.sheds === true) {
    const facts = { ...loop, shed, explains: 'event-loop-late', command: commandLine('top') }
    return finding('load-shed', 'critical', 'process', facts, ({ shed, ...loop }) => [
      `the event loop is ${formatDuration(Math.round(loop.delayMs))} late${wherePhrase(loop)}, over limits.eventLoopDelay (${formatDuration(loop.limitMs)}), so new requests are rejected${rejectedPhrase(shed)}`,
    ])
  }
  if (shed.last15Min === 0) return []
  const severity = shed.lastMinute > 0 ? 'warning' : 'notice'
  return finding('load-was-shed', severity, 'process', { shed, since: shed.firstAt }, ({ shed }) => [
    `the event loop was late, over limits.eventLoopDelay${rejectedPhrase(shed)}`,
  ])
}

const redisFindings: FindingSource = ({ config, file, report: { limits } }) => {
  const { rate } = limits
  if (rate?.store !== 'redis' || rate.state !== 'local') return null
  const severity = config.auth?.dpop?.withoutRedis === 'reject' ? 'critical' : 'warning'
  const facts = { ...rate, command: checkCommandLine(file.name, '--online') }
  return finding('limits-not-shared', severity, 'redis', facts, (rate) => [
    `${redisGone(rate)}: ${unsharedPhrases(config).join(', and ')}`,
  ])
}

const unsharedPhrases = ({ auth, limits, clients }: FindingInputs['config']): readonly string[] => {
  const proofs = auth?.dpop?.withoutRedis
  return [
    ...(proofs === 'reject' ? ['requests with a DPoP proof are rejected (auth.dpop.withoutRedis: reject)'] : []),
    ...(proofs === 'serve' ? ['a DPoP proof can be used once at each gateway (auth.dpop.withoutRedis: serve)'] : []),
    ...(limits.address !== null || clients.some(({ rate }) => rate !== null)
      ? ['this gateway counts rates alone, so several gateways together let more through']
      : []),
  ]
}

export const findings: readonly PlacedFindings[] = [
  { after: 'eventLoop', value: loadFindings },
  ...[
    rejectingLimitFindings,
    fullLimitFindings,
    fullEndpointFindings,
    fullBodyRoomFindings,
    connectionFindings,
    redisFindings,
  ].map((value) => ({ after: 'gatewayErrors', value }) as const),
]

export const metrics: readonly PlacedMetrics[] = [{ before: 'configuration', value: limitMetrics }]

declare module '../../core/runtime/status/status-part.ts' {
  interface Status {
    readonly limits: Shown<typeof limitsField>
  }
}

export const status: readonly PlacedStatus[] = [
  { after: 'upstreams', key: 'limits', field: fromReport('limits', limitsField) },
]

export const loadPage = () => import('./page.ts')

const field = (name: string, component: string, description: string): DescribedField => ({
  layer: 'address-limit',
  field: name,
  component,
  header: { description: `${description} (draft-ietf-httpapi-ratelimit-headers).`, schema: { type: 'string' } },
})

const rateFields = [
  field('RateLimit-Policy', 'RateLimitPolicy', 'The limits: quota and window'),
  field('RateLimit', 'RateLimit', 'What is left: requests, and the seconds until the next one'),
]

const describe: DescribeOperation = ({ id }, { limits, operations, clients }) => {
  const callers = operations[id].auth === null ? [] : clients.filter((each) => each.operations?.includes(id) ?? true)
  const hasRate = limits.address !== null || callers.some(({ rate }) => rate !== null)
  const isLimited = hasRate || callers.some(({ concurrency }) => concurrency !== null)
  return { failures: isLimited ? ['rate-limited'] : [], fields: hasRate ? rateFields : [] }
}

export const loadOpenApi = async () => ({ describe })

export const loadStatusTexts = () => import('./status-text.ts')
