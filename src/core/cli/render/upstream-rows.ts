import { describeEqual } from '../../../features/candidate/status/describe-comparison.ts'
import { describeShadow } from '../../../features/candidate/status/describe-shadow.ts'
import { describeShift, type ShiftTimeFormat } from '../../../features/candidate/status/shift-status.ts'
import type { Status } from '../../admin/api/status.ts'
import { sinceStart } from '../../admin/commands/phrases.ts'
import type { EndpointStatus } from '../../runtime/status/endpoint.ts'
import type { UpstreamStatus } from '../../runtime/status/upstreams.ts'
import { formatAgo, formatTimeLeft, humanizeSeconds } from './format-time.ts'
import type { TableRow } from './table.ts'

/**
 * Lists the endpoints of each group, and below them its circuit breaker and retry budget. Those of its candidate come
 * next.
 */
export const upstreamRows = (upstreams: Status['upstreams'], at: number): readonly TableRow[] => [
  ['group', 'endpoint', 'weight', 'in flight', 'state'],
  ...Object.entries(upstreams).flatMap(([group, upstream]): readonly TableRow[] => {
    const { retryBudget, candidate } = upstream
    const budget: TableRow | null =
      retryBudget === null ? null : ['retry budget', '', '', renderRetryBudget(retryBudget)]
    return [
      ...labelRows(group, [...sideRows(upstream, at), ...(budget === null ? [] : [budget])]),
      ...(candidate === null ? [] : candidateRows(group, candidate, at)),
    ]
  }),
]

/** Lists the endpoints of a candidate, and below them its circuit breaker, its copies, and how much goes there. */
export const candidateRows = (
  group: string,
  candidate: NonNullable<UpstreamStatus['candidate']>,
  at: number,
): readonly TableRow[] => {
  const { shadow, comparison, shift } = candidate
  const copies: TableRow | null = shadow && [
    'copies',
    '',
    `${shadow.underWay}`,
    `${describeShadow(shadow)} ${sinceStart}`,
  ]
  const compared: readonly TableRow[] =
    comparison === null ? [] : [['compared', '', '', renderCompared(comparison, at)]]
  const share: readonly TableRow[] = shift === null ? [] : [['share', '', '', describeShift(shift, timesBeside(at))]]
  return labelRows(`${group} candidate`, [
    ...sideRows(candidate, at),
    ...(copies === null ? [] : [copies]),
    ...compared,
    ...share,
  ])
}

const renderCompared = (
  { since, ...comparison }: NonNullable<NonNullable<UpstreamStatus['candidate']>['comparison']>,
  at: number,
): string => {
  const begun = since === null ? '' : ` since ${formatAgo(since, at)}`
  return `${describeEqual(comparison)}${begun}; in the last 5 minutes ${describeEqual(comparison.recent)}`
}

export const timesBeside = (at: number): ShiftTimeFormat => ({
  since: (time) => formatAgo(time, at),
  until: (time) => formatTimeLeft(time, at),
})

const labelRows = (label: string, [first = ['none'], ...others]: readonly TableRow[]): readonly TableRow[] => [
  [label, ...first],
  ...others.map((other) => ['', ...other]),
]

const sideRows = ({ endpoints, breaker }: SideStatus, at: number): readonly TableRow[] => [
  ...endpoints.map((endpoint) => endpointRow(endpoint, at)),
  ...(breaker === null ? [] : [['circuit breaker', '', '', renderBreaker(breaker, at)]]),
]

type SideStatus = Pick<UpstreamStatus, 'endpoints' | 'breaker'>

const endpointRow = (endpoint: EndpointStatus, at: number): TableRow => {
  const { url, sandbox, weight, inFlight } = endpoint
  return [sandbox ? 'sandbox (embedded)' : url, `${weight}`, `${inFlight}`, describeEndpoint(endpoint, at)]
}

/** Describes whether an endpoint gets requests, and why not; what needs an operator is in capitals. */
const describeEndpoint = (endpoint: EndpointStatus, at: number): string => {
  const { state, weight, since, reason, ejectedForSeconds, drainUntil, readyUntil, orderedBy, orderReason } = endpoint
  const orderedWhy = orderReason === null ? '' : ` (${orderReason})`
  const by = `by ${orderedBy ?? 'an operator'}`
  const begun = since === null ? '' : ` since ${formatAgo(since, at)}`
  if (state === 'draining') {
    if (drainUntil !== null) return `drained ${by} until ${formatTimeLeft(drainUntil, at)}${orderedWhy}`
    return `${weight === 0 ? 'weight 0' : 'drained by the file'}${begun}: nothing new`
  }
  const why = `${begun}${reason === null ? '' : `: ${reason}`}`
  if (state === 'down') return `DOWN${why}`
  if (state === 'failing') return `FAILING${why}`
  if (state === 'ejected')
    return `EJECTED${why}${ejectedForSeconds === null ? '' : `; ${describeEjection(ejectedForSeconds)}`}`
  const ready = readyUntil === null ? '' : ` ${by} until ${formatTimeLeft(readyUntil, at)}${orderedWhy}`
  return `${state}${why}${ready}${isTried(endpoint) ? '' : ', not tried yet'}${describeWarnings(endpoint, at)}`
}

/** Tells whether something speaks for an endpoint, or against it. Up is also one that nothing was sent to. */
const isTried = ({ sandbox, requests, lastSuccess, lastProbe }: EndpointStatus): boolean =>
  sandbox || requests > 0 || lastSuccess !== null || lastProbe !== null

const describeEjection = (seconds: number): string => `tried again in ${humanizeSeconds(Math.ceil(seconds))}`

const describeWarnings = (endpoint: EndpointStatus, at: number): string => {
  const { lastProbe, requests, failures, countedSince, certificate } = endpoint
  const since = countedSince === null ? '' : ` since ${formatAgo(countedSince, at)}`
  const probe =
    lastProbe === null || lastProbe.ok ? '' : `, last probe failed: ${lastProbe.reason ?? 'no reason given'}`
  return `${failures === 0 ? '' : `, ${failures} of ${requests} requests failed${since}`}${probe}${renderCertificate(certificate)}`
}

/** Renders the end of a certificate that needs an operator; empty otherwise. */
const renderCertificate = (certificate: EndpointStatus['certificate']): string => {
  if (certificate === null || !certificate.endsSoon) return ''
  const { notAfter, daysLeft } = certificate
  return daysLeft < 0 ? `, certificate EXPIRED ${notAfter}` : `, certificate EXPIRES ${notAfter}, ${daysLeft} days left`
}

const renderBreaker = (
  { state, since, where, reason, nextTry }: NonNullable<UpstreamStatus['breaker']>,
  at: number,
): string => {
  if (state === 'closed') return 'closed'
  const consequence =
    state === 'open'
      ? `: nothing is sent${where === null ? '' : ' there'}`
      : state === 'half-open'
        ? ': a few are sent, to see'
        : ''
  const next = nextTry === null ? '' : `, tried again at ${formatTimeLeft(nextTry, at)}`
  return `${state.toUpperCase()}${where === null ? '' : ` ${where}`} since ${formatAgo(since, at)}${consequence}${next}${reason === null ? '' : `; ${reason}`}`
}

const renderRetryBudget = ({ left }: NonNullable<UpstreamStatus['retryBudget']>): string =>
  left < 1 ? 'USED UP: nothing is retried' : `${Math.floor(left)} ${left < 2 ? 'retry' : 'retries'} left`
