import { formatAgo, formatTimeLeft, humanizeSeconds } from '../../lib/text/format-time.ts'
import type { TableRow } from '../../lib/text/table.ts'
import type { EndpointStatus } from '../../runtime/status/endpoint.ts'
import type { UpstreamStatus } from '../../runtime/status/upstreams.ts'

export const labelRows = (label: string, [first = ['none'], ...others]: readonly TableRow[]): readonly TableRow[] => [
  [label, ...first],
  ...others.map((other) => ['', ...other]),
]

export const endpointHeader = ['group', 'endpoint', 'weight', 'in flight', 'state']

type SideStatus = Pick<UpstreamStatus, 'endpoints' | 'breaker'>

export const sideRows = ({ endpoints, breaker }: SideStatus, at: number): readonly TableRow[] => [
  ...endpoints.map((endpoint) => {
    const { url, sandbox, weight, inFlight } = endpoint
    return [sandbox ? 'sandbox (embedded)' : url, `${weight}`, `${inFlight}`, describeEndpoint(endpoint, at)]
  }),
  ...(breaker === null ? [] : [['circuit breaker', '', '', renderBreaker(breaker, at)]]),
]

/** Capitals mark a state that needs an operator. */
const describeEndpoint = (endpoint: EndpointStatus, at: number): string => {
  const { state, weight, since, reason, ejectedForSeconds, drainUntil, readyUntil, setBy, setReason } = endpoint
  const because = setReason === null ? '' : ` (${setReason})`
  const by = `by ${setBy ?? 'an operator'}`
  const begun = since === null ? '' : ` since ${formatAgo(since, at)}`
  if (state === 'draining') {
    if (drainUntil !== null) return `drained ${by} until ${formatTimeLeft(drainUntil, at)}${because}`
    return `${weight === 0 ? 'weight 0' : 'drained by the file'}${begun}: nothing new`
  }
  const why = `${begun}${reason === null ? '' : `: ${reason}`}`
  if (state === 'down') return `DOWN${why}`
  if (state === 'failing') return `FAILING${why}`
  if (state === 'ejected')
    return `EJECTED${why}${ejectedForSeconds === null ? '' : `; tried again in ${humanizeSeconds(Math.ceil(ejectedForSeconds))}`}`
  const ready = readyUntil === null ? '' : ` ${by} until ${formatTimeLeft(readyUntil, at)}${because}`
  // A new endpoint is `up` before any request or probe.
  const { sandbox, requests, lastSuccess, lastProbe } = endpoint
  const isTried = sandbox || requests > 0 || lastSuccess !== null || lastProbe !== null
  return `${state}${why}${ready}${isTried ? '' : ', not tried yet'}${describeWarnings(endpoint, at)}`
}

const describeWarnings = (endpoint: EndpointStatus, at: number): string => {
  const { lastProbe, requests, failures, countedSince, certificate } = endpoint
  const since = countedSince === null ? '' : ` since ${formatAgo(countedSince, at)}`
  const probe =
    lastProbe === null || lastProbe.ok ? '' : `, last probe failed: ${lastProbe.reason ?? 'no reason given'}`
  return `${failures === 0 ? '' : `, ${failures} of ${requests} requests failed${since}`}${probe}${renderCertificate(certificate)}`
}

const renderCertificate = (certificate: EndpointStatus['certificate']): string => {
  if (certificate === null || !certificate.endsSoon) return ''
  const { notAfter, daysLeft } = certificate
  return daysLeft < 0 ? `, certificate EXPIRED ${notAfter}` : `, certificate EXPIRES ${notAfter}, ${daysLeft} days left`
}

const renderBreaker = (breaker: NonNullable<UpstreamStatus['breaker']>, at: number): string => {
  const { state, since, where, reason, nextTry } = breaker
  if (state === 'closed') return 'closed'
  const consequence =
    state === 'open'
      ? `: nothing is sent${where === null ? '' : ' there'}`
      : state === 'half-open'
        ? ': a few are sent, as a test'
        : ''
  const next = nextTry === null ? '' : `, tried again at ${formatTimeLeft(nextTry, at)}`
  return `${state.toUpperCase()}${where === null ? '' : ` ${where}`} since ${formatAgo(since, at)}${consequence}${next}${reason === null ? '' : `; ${reason}`}`
}
