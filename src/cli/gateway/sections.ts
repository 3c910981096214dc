import type { Status } from '../../admin/status.ts'
import type { EndpointStatus, UpstreamStatus } from '../../admin/upstream-status.ts'
import { isOrder } from '../../shared/command.ts'
import { ago, span, until } from './print.ts'
import type { Row } from './table.ts'

/** Writes what is wrong, the worst first, each with what shows more; nothing is said as well. */
export const findingsText = (findings: Status['findings'], at: number): string =>
  findings.length === 0 ? 'nothing is wrong' : findings.map((each) => findingText(each, at)).join('\n')

const findingText = (
  { severity, about, cause, details, since, command }: Status['findings'][number],
  at: number,
): string => {
  const more = [
    ...(since === null ? [] : [`since ${ago(since, at)}`]),
    ...(command === null ? [] : [`${isOrder(command) ? 'to do' : 'more'}: ${command}`]),
  ]
  const first = `${(severity === 'critical' ? 'CRITICAL' : severity).padEnd(width)}  ${about}: ${cause}`
  const below = [...(more.length === 0 ? [] : [more.join('; ')]), ...details.map((each) => `- ${each}`)]
  return [first, ...below.map((each) => `${' '.repeat(width)}  ${each}`)].join('\n')
}

const width = 'CRITICAL'.length

/** Lists the processes that serve; `hash` is of what all of them should run. */
export const workerRows = (workers: Status['workers'], hash: string, at: number): readonly Row[] => [
  ['worker', 'process', 'up', 'in flight', 'restarts', 'state'],
  ...workers.map(
    (each): Row => [
      `${each.worker}`,
      each.pid === null ? 'none' : `${each.pid}`,
      each.startedAt === null ? '' : upText(each.startedAt, at),
      each.inFlight === null ? '?' : `${each.inFlight}`,
      `${each.restarts}`,
      workerState(each, hash),
    ],
  ),
]

const upText = (startedAt: string, at: number): string => {
  const ms = Date.parse(startedAt)
  return Number.isNaN(ms) ? startedAt : span((at - ms) / 1000)
}

/** Says in words how it does; what needs somebody is in capitals. */
const workerState = ({ state, pid, config }: Status['workers'][number], hash: string): string => {
  if (state === 'not answering') return `NOT ANSWERING: if it stays so, kill -9 ${pid} has it replaced`
  if (state === 'waiting') return 'ENDED AGAIN AND AGAIN: the next start waits, the log says why'
  return config === null || config === hash ? state : `${state}, RUNS ANOTHER CONFIGURATION: ${config}`
}

/** Lists what stands behind each group: an endpoint a row, and below them what holds for all of the group. */
export const upstreamRows = (upstreams: Status['upstreams'], at: number): readonly Row[] => [
  ['group', 'endpoint', 'weight', 'in flight', 'state'],
  ...Object.entries(upstreams).flatMap(([group, upstream]): readonly Row[] => {
    const [first = ['none'], ...others] = [
      ...upstream.endpoints.map((each) => endpointRow(each, at)),
      ...common(upstream, at),
    ]
    return [[group, ...first], ...others.map((other) => ['', ...other])]
  }),
]

const endpointRow = (endpoint: EndpointStatus, at: number): Row => {
  const { url, sandbox, weight, inFlight } = endpoint
  return [sandbox ? 'sandbox (embedded)' : url, `${weight}`, `${inFlight}`, endpointState(endpoint, at)]
}

/** Says in words whether it is sent to, and why not; what needs somebody is in capitals. */
const endpointState = (endpoint: EndpointStatus, at: number): string => {
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
  return `${failures === 0 ? '' : `, ${failures} of ${requests} requests failed`}${probe}${certificateText(certificate)}`
}

/** Says when it ends, where somebody is needed; empty: nobody is. */
const certificateText = (certificate: EndpointStatus['certificate']): string => {
  if (certificate === null || !certificate.endsSoon) return ''
  const { notAfter, daysLeft } = certificate
  return daysLeft < 0 ? `, certificate EXPIRED ${notAfter}` : `, certificate EXPIRES ${notAfter}, ${daysLeft} days left`
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

/** Writes how near the gateway is to what it takes on at most; what needs somebody is in capitals. */
export const limitRows = ({ rate, concurrency, eventLoop }: Status['limits'], at: number): readonly Row[] => [
  ['limit', 'now'],
  ...(rate === null ? [] : [rateRow(rate, at)]),
  ...concurrency.map(({ key, inFlight, limit }): Row => {
    const full = inFlight >= limit ? ': FULL, what comes is refused' : ''
    return [key, `${inFlight} of ${limit} in flight${full}`]
  }),
  ...(eventLoop === null ? [] : [eventLoopRow(eventLoop, at)]),
]

const rateRow = ({ store, state, since, where, evictions }: NonNullable<Status['limits']['rate']>, at: number): Row => {
  const here = where === null ? '' : ` ${where}`
  const alone =
    state === 'shared'
      ? 'by redis, with other gateways'
      : `REDIS IS OF NO USE${here} since ${ago(since, at)}: counted here`
  const forgotten = evictions === 0 ? '' : `; ${evictions} keys forgotten for want of room`
  return ['rates', `${store === 'redis' ? alone : 'counted in memory'}${forgotten}`]
}

const eventLoopRow = (
  { delayMs, limitMs, sheds, since, where }: NonNullable<Status['limits']['eventLoop']>,
  at: number,
): Row => {
  const late = `${delayMs} of ${limitMs} ms late`
  const shed = sheds ? `: SHEDS LOAD${where === null ? '' : ` ${where}`} since ${ago(since, at)}` : ''
  return ['limits.eventLoopDelay', `${late}${shed}`]
}

/** Lists the operations that do not serve, or only for now. */
export const operationRows = (operations: Status['operations'], at: number): readonly Row[] => [
  ['operation', 'state'],
  ...Object.entries(operations).map(([id, { state, until: end }]): Row => {
    const said = state === 'refuse' ? 'REFUSED' : state === 'serve' ? 'served' : state
    return [id, end === null ? `${said} by the file` : `${said} by an operator until ${until(end, at)}`]
  }),
]
