import type { Status } from '../../admin/api/status.ts'
import type { EndpointStatus, UpstreamStatus } from '../../admin/api/upstream-status.ts'
import { isMutatingCommand } from '../../shared/program-command.ts'
import { formatAgo, formatTimeLeft, humanizeSeconds } from './output.ts'
import type { TableRow } from './table.ts'

/** Writes what is wrong, the worst first, each with what shows more; nothing is said as well. */
export const renderFindings = (findings: Status['findings'], at: number): string =>
  findings.length === 0 ? 'nothing is wrong' : findings.map((each) => renderFinding(each, at)).join('\n')

const renderFinding = (
  { severity, about, cause, details, since, command }: Status['findings'][number],
  at: number,
): string => {
  const more = [
    ...(since === null ? [] : [`since ${formatAgo(since, at)}`]),
    ...(command === null ? [] : [`${isMutatingCommand(command) ? 'to do' : 'more'}: ${command}`]),
  ]
  const first = `${(severity === 'critical' ? 'CRITICAL' : severity).padEnd(severityWidth)}  ${about}: ${cause}`
  const below = [...(more.length === 0 ? [] : [more.join('; ')]), ...details.map((each) => `- ${each}`)]
  return [first, ...below.map((each) => `${' '.repeat(severityWidth)}  ${each}`)].join('\n')
}

const severityWidth = 'CRITICAL'.length

/** Lists the processes that serve; `hash` is of what all of them should run. */
export const workerRows = (workers: Status['workers'], hash: string, at: number): readonly TableRow[] => [
  ['worker', 'process', 'up', 'in flight', 'restarts', 'state'],
  ...workers.map(
    (each): TableRow => [
      `${each.worker}`,
      each.pid === null ? 'none' : `${each.pid}`,
      each.startedAt === null ? '' : renderUptime(each.startedAt, at),
      each.inFlight === null ? '?' : `${each.inFlight}`,
      `${each.restarts}`,
      describeWorker(each, hash),
    ],
  ),
]

const renderUptime = (startedAt: string, at: number): string => {
  const ms = Date.parse(startedAt)
  return Number.isNaN(ms) ? startedAt : humanizeSeconds((at - ms) / 1000)
}

/** Says in words how it does; what needs somebody is in capitals. */
const describeWorker = ({ state, pid, config }: Status['workers'][number], hash: string): string => {
  if (state === 'not answering') return `NOT ANSWERING: if it stays so, kill -9 ${pid} has it replaced`
  if (state === 'waiting') return 'ENDED AGAIN AND AGAIN: the next start waits, the log says why'
  return config === null || config === hash ? state : `${state}, RUNS ANOTHER CONFIGURATION: ${config}`
}

/** Lists what stands behind each group: an endpoint a row, and below them what holds for all of the group. */
export const upstreamRows = (upstreams: Status['upstreams'], at: number): readonly TableRow[] => [
  ['group', 'endpoint', 'weight', 'in flight', 'state'],
  ...Object.entries(upstreams).flatMap(([group, upstream]): readonly TableRow[] => {
    const [first = ['none'], ...others] = [
      ...upstream.endpoints.map((each) => endpointRow(each, at)),
      ...groupRows(upstream, at),
    ]
    return [[group, ...first], ...others.map((other) => ['', ...other])]
  }),
]

const endpointRow = (endpoint: EndpointStatus, at: number): TableRow => {
  const { url, sandbox, weight, inFlight } = endpoint
  return [sandbox ? 'sandbox (embedded)' : url, `${weight}`, `${inFlight}`, describeEndpoint(endpoint, at)]
}

/** Says in words whether it is sent to, and why not; what needs somebody is in capitals. */
const describeEndpoint = (endpoint: EndpointStatus, at: number): string => {
  const { state, weight, since, reason, ejectedForSeconds, drainUntil, readyUntil } = endpoint
  if (state === 'draining') {
    if (drainUntil !== null) return `drained by an operator until ${formatTimeLeft(drainUntil, at)}`
    return weight === 0 ? 'weight 0: nothing new' : 'drained by the file: nothing new'
  }
  const why = `${since === null ? '' : ` since ${formatAgo(since, at)}`}${reason === null ? '' : `: ${reason}`}`
  if (state === 'down') return `DOWN${why}`
  if (state === 'failing') return `FAILING${why}`
  if (state === 'ejected')
    return `EJECTED${why}${ejectedForSeconds === null ? '' : `; ${describeEjection(ejectedForSeconds)}`}`
  const ready = readyUntil === null ? '' : ` by an operator until ${formatTimeLeft(readyUntil, at)}`
  return `${state}${why}${ready}${describeWarnings(endpoint)}`
}

const describeEjection = (seconds: number): string => `tried again in ${humanizeSeconds(Math.ceil(seconds))}`

const describeWarnings = ({ lastProbe, requests, failures, certificate }: EndpointStatus): string => {
  const probe =
    lastProbe === null || lastProbe.ok ? '' : `, last probe failed: ${lastProbe.reason ?? 'no reason given'}`
  return `${failures === 0 ? '' : `, ${failures} of ${requests} requests failed`}${probe}${renderCertificate(certificate)}`
}

/** Says when it ends, where somebody is needed; empty: nobody is. */
const renderCertificate = (certificate: EndpointStatus['certificate']): string => {
  if (certificate === null || !certificate.endsSoon) return ''
  const { notAfter, daysLeft } = certificate
  return daysLeft < 0 ? `, certificate EXPIRED ${notAfter}` : `, certificate EXPIRES ${notAfter}, ${daysLeft} days left`
}

const groupRows = ({ breaker, retryBudget }: UpstreamStatus, at: number): readonly TableRow[] => {
  const rows: TableRow[] = []
  if (breaker !== null) rows.push(['circuit breaker', '', '', renderBreaker(breaker, at)])
  if (retryBudget !== null) rows.push(['retry budget', '', '', renderRetryBudget(retryBudget)])
  return rows
}

const renderBreaker = ({ state, since, where, reason }: NonNullable<UpstreamStatus['breaker']>, at: number): string => {
  if (state === 'closed') return 'closed'
  const consequence =
    state === 'open'
      ? `: nothing is sent${where === null ? '' : ' there'}`
      : state === 'half-open'
        ? ': a few are sent, to see'
        : ''
  return `${state.toUpperCase()}${where === null ? '' : ` ${where}`} since ${formatAgo(since, at)}${consequence}${reason === null ? '' : `; ${reason}`}`
}

const renderRetryBudget = ({ left }: NonNullable<UpstreamStatus['retryBudget']>): string =>
  left < 1 ? 'USED UP: nothing is retried' : `${Math.floor(left)} retries left`

/** Writes how near the gateway is to what it takes on at most; what needs somebody is in capitals. */
export const limitRows = ({ rate, concurrency, eventLoop }: Status['limits'], at: number): readonly TableRow[] => [
  ['limit', 'now'],
  ...(rate === null ? [] : [rateRow(rate, at)]),
  ...concurrency.map(({ key, inFlight, limit }): TableRow => {
    const full = inFlight >= limit ? ': FULL, what comes is refused' : ''
    return [key, `${inFlight} of ${limit} in flight${full}`]
  }),
  ...(eventLoop === null ? [] : [eventLoopRow(eventLoop, at)]),
]

const rateRow = (
  { store, state, since, where, evictions }: NonNullable<Status['limits']['rate']>,
  at: number,
): TableRow => {
  const here = where === null ? '' : ` ${where}`
  const alone =
    state === 'shared'
      ? 'by redis, with other gateways'
      : `REDIS IS OF NO USE${here} since ${formatAgo(since, at)}: counted here`
  const forgotten = evictions === 0 ? '' : `; ${evictions} keys forgotten for want of room`
  return ['rates', `${store === 'redis' ? alone : 'counted in memory'}${forgotten}`]
}

const eventLoopRow = (
  { delayMs, limitMs, sheds, since, where }: NonNullable<Status['limits']['eventLoop']>,
  at: number,
): TableRow => {
  const late = `${delayMs} of ${limitMs} ms late`
  const shed = sheds ? `: SHEDS LOAD${where === null ? '' : ` ${where}`} since ${formatAgo(since, at)}` : ''
  return ['limits.eventLoopDelay', `${late}${shed}`]
}

/** Lists the operations that do not serve, or only for now. */
export const operationRows = (operations: Status['operations'], at: number): readonly TableRow[] => [
  ['operation', 'state'],
  ...Object.entries(operations).map(([id, { state, until: end }]): TableRow => {
    const stateText = state === 'refuse' ? 'REFUSED' : state === 'serve' ? 'served' : state
    return [
      id,
      end === null ? `${stateText} by the file` : `${stateText} by an operator until ${formatTimeLeft(end, at)}`,
    ]
  }),
]
