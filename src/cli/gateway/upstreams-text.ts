import type { Status } from './answers.ts'
import { endText } from './shown-certificate.ts'
import { ago, span, until } from './span.ts'
import type { Row } from './table.ts'
import type { EndpointStatus, UpstreamStatus } from './upstreams-answer.ts'

/** Lists what stands behind each group: an endpoint a row, and below them what holds for all of the group. */
export const upstreamRows = (upstreams: Status['upstreams'], at: number): readonly Row[] => [
  ['group', 'endpoint', 'weight', 'in flight', 'state'],
  ...Object.entries(upstreams).flatMap(([group, upstream]: [string, UpstreamStatus]): readonly Row[] => {
    const [first = ['none'], ...others] = [
      ...upstream.endpoints.map((each) => endpointRow(each, at)),
      ...common(upstream, at),
    ]
    return [[group, ...first], ...others.map((other) => ['', ...other])]
  }),
]

const endpointRow = (endpoint: EndpointStatus, at: number): Row => {
  const { url, sandbox, weight, inFlight } = endpoint
  return [sandbox ? 'sandbox (embedded)' : url, `${weight}`, `${inFlight}`, stateText(endpoint, at)]
}

/** Says in words whether it is sent to, and why not; what needs somebody is in capitals. */
const stateText = (endpoint: EndpointStatus, at: number): string => {
  const { state, weight, since, reason, ejectedForSeconds, drainUntil, readyUntil } = endpoint
  if (state === 'draining') {
    if (drainUntil !== null) return `drained by an operator until ${until(drainUntil, at)}`
    return weight === 0 ? 'weight 0: nothing new' : 'drained by the file: nothing new'
  }
  const why = `${since === null ? '' : ` since ${ago(since, at)}`}${reason === null ? '' : `: ${reason}`}`
  if (state === 'down') return `DOWN${why}`
  if (state === 'failing') return `FAILING${why}`
  if (state === 'ejected') return `EJECTED${why}${ejectedForSeconds === null ? '' : `; ${left(ejectedForSeconds)}`}`
  const ready = readyUntil === null ? '' : ` by an operator until ${until(readyUntil, at)}`
  return `${state}${why}${ready}${doubts(endpoint)}`
}

const left = (seconds: number): string => `tried again in ${span(Math.ceil(seconds))}`

const doubts = ({ lastProbe, requests, failures, certificate }: EndpointStatus): string => {
  const probe =
    lastProbe === null || lastProbe.ok ? '' : `, last probe failed: ${lastProbe.reason ?? 'no reason given'}`
  return `${failures === 0 ? '' : `, ${failures} of ${requests} requests failed`}${probe}${endText(certificate)}`
}

const common = ({ breaker, retryBudget }: UpstreamStatus, at: number): readonly Row[] => {
  const rows: Row[] = []
  if (breaker !== null) rows.push(['circuit breaker', '', '', breakerText(breaker, at)])
  if (retryBudget !== null) rows.push(['retry budget', '', '', budgetText(retryBudget)])
  return rows
}

const breakerText = ({ state, since, where, reason }: NonNullable<UpstreamStatus['breaker']>, at: number): string => {
  if (state === 'closed') return 'closed'
  const means =
    state === 'open'
      ? `: nothing is sent${where === null ? '' : ' there'}`
      : state === 'half-open'
        ? ': a few are sent, to see'
        : ''
  return `${state.toUpperCase()}${where === null ? '' : ` ${where}`} since ${ago(since, at)}${means}${reason === null ? '' : `; ${reason}`}`
}

const budgetText = ({ left }: NonNullable<UpstreamStatus['retryBudget']>): string =>
  left < 1 ? 'USED UP: nothing is retried' : `${Math.floor(left)} retries left`
