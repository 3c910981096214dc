import type { Reason } from '../../failures/reasons.ts'
import type { CauseReport } from '../../observe/refusals/causes.ts'
import type { NotServing } from '../../snapshot/report.ts'
import { formatDuration } from '../../units.ts'
import { counted, explainCommand, type Finding, finding, grouped, groupOf, held, placed, tallyOf } from './finding.ts'
import type { Reading } from './reading.ts'

/** Finds which bounds are full, and who counts by itself. */
export const limitFindings = (reading: Reading): readonly Finding[] => [
  ...refusing(reading),
  ...full(reading),
  ...places(reading),
  ...connections(reading),
  ...alone(reading),
]

type Bounded = CauseReport & { readonly operation: NonNullable<CauseReport['operation']> }

const isOf =
  (...reasons: readonly Reason[]) =>
  (cause: CauseReport): cause is Bounded =>
    cause.operation !== null && reasons.some((reason) => reason === cause.reason)

/** Names the key of a bound that has refused a request. */
const keyOf = ({ reason, operation }: Bounded): string => {
  if (reason === 'limits-concurrency') return 'limits.concurrency'
  return reason === 'upstream-concurrency'
    ? `upstreams.${groupOf(operation)}.concurrency`
    : `operations.${operation}.concurrency`
}

const bounds = isOf('limits-concurrency', 'upstream-concurrency', 'operation-concurrency')

const refusing = ({ report }: Reading): readonly Finding[] =>
  grouped(report.refusals.causes.filter(bounds), keyOf).map((same) => {
    const key = keyOf(same[0] as Bounded)
    const state = report.limits.concurrency.find((each) => each.key === key)
    const now = state === undefined ? '' : `, ${state.inFlight} of ${state.limit} in flight now`
    const tally = tallyOf(same)
    const is = state === undefined || state.inFlight >= state.limit ? 'is' : 'was'
    const cause = `${key} ${is} full: ${counted(tally, 'refused')}${now}`
    const command = explainCommand((same[0] as Bounded).operation)
    return finding(tally.lastMinute > 0 ? 'warning' : 'notice', key, cause, { since: tally.firstAt, command })
  })

/** Finds bounds that are full, and have refused nobody yet. */
const full = ({ report }: Reading): readonly Finding[] => {
  const refused = new Set(report.refusals.causes.filter(bounds).map(keyOf))
  return report.limits.concurrency
    .filter(({ key, inFlight, limit }) => inFlight >= limit && !refused.has(key))
    .map(({ key, inFlight, limit }) =>
      finding('notice', key, `${key} is full: ${inFlight} of ${limit} in flight; the next request is refused`),
    )
}

/** Finds groups whose endpoints have no place for more. */
const places = ({ report }: Reading): readonly Finding[] =>
  grouped(report.refusals.causes.filter(isOf('endpoint-connections')), ({ operation }) => groupOf(operation)).map(
    (same) => {
      const { operation } = same[0] as Bounded
      const group = groupOf(operation)
      const tally = tallyOf(same)
      const cause = `all places at the endpoints of ${group} are taken (maxConnections, maxPending): ${counted(tally, 'refused')}`
      const severity = tally.lastMinute > 0 ? 'warning' : 'notice'
      const command = explainCommand(operation)
      return finding(severity, `upstreams.${group}`, cause, { since: tally.firstAt, command })
    },
  )

/** Finds bounds that close connections at once: whoever connects is told nothing, and leaves no line. */
const connections = ({ report, config }: Reading): readonly Finding[] =>
  report.turnedAway.map(({ setting, lastMinute, lastQuarter, firstAt }) => {
    const key = `listen.${setting}`
    const count = lastMinute > 0 ? lastMinute : lastQuarter
    const when = lastMinute > 0 ? 'in the last minute' : 'in the last 15 minutes, none in the last minute'
    const were = count === 1 ? '1 connection was' : `${count} connections were`
    const cause = `${key} (${config.listen[setting]}) is reached: ${were} closed at once ${when}`
    const severity = lastMinute > 0 && setting === 'maxConnections' ? 'warning' : 'notice'
    return finding(severity, key, cause, { since: firstAt })
  })

/** Finds what should be shared in Redis and is not. */
const alone = ({ report: { limits, cache } }: Reading): readonly Finding[] => {
  const found: Finding[] = []
  const { rate } = limits
  if (rate?.store === 'redis' && rate.state === 'local') {
    const cause = `Redis cannot be asked${whyOf(rate)}: this gateway counts by itself how often clients ask`
    found.push(finding('warning', 'redis', cause, { since: rate.since }))
  }
  if (cache?.redis?.state === 'local') {
    const cause = `Redis cannot be asked${whyOf(cache.redis)}: this gateway has in its cache what it has stored itself`
    found.push(finding('warning', 'redis', cause, { since: cache.redis.since }))
  }
  return found
}

const whyOf = (store: { readonly reason: string | null; readonly where: string | null }): string =>
  `${placed(store)}${store.reason === null ? '' : ` (${store.reason})`}`

// Far more than pauses of the garbage collector, or the hiccups of a machine that others use too: clients notice.
const lateMs = 500

const fullHeap = 0.9

/** Finds what is wrong with the processes of the gateway. */
export const processFindings = (reading: Reading): readonly Finding[] => [
  ...serving(reading),
  ...workers(reading),
  ...eventLoop(reading),
  ...heap(reading),
  ...log(reading),
]

const unserved: Readonly<Record<NotServing, string>> = {
  starting: 'nobody serves clients: the gateway is starting',
  'not-listening': 'nobody serves clients: the public listener is closed; restart the gateway',
  'no-worker': 'nobody serves clients: no worker is ready',
}

const serving = ({ notServing, draining }: Reading): readonly Finding[] => {
  if (draining) return [finding('warning', 'process', 'the gateway stops: it finishes what runs, and /ready says no')]
  return notServing === null ? [] : [finding('critical', 'process', unserved[notServing])]
}

const workers = ({ workers: all, draining }: Reading): readonly Finding[] =>
  draining
    ? []
    : all.flatMap(({ worker, state, restarts, startedAt }): readonly Finding[] => {
        const again = restarts === 0 ? '' : `, after ${restarts} before it`
        if (state === 'not answering')
          return [finding('warning', 'workers', `worker ${worker} gives no sign of life`, { since: startedAt })]
        if (state === 'waiting')
          return [finding('warning', 'workers', `worker ${worker} has ended${again}; another is started`)]
        return []
      })

const eventLoop = ({ report }: Reading): readonly Finding[] => {
  const { eventLoop: loop } = report.limits
  const shed = tallyOf(report.refusals.causes.filter(({ reason }) => reason === 'event-loop'))
  if (loop?.sheds === true) {
    const cause = `the event loop is ${formatDuration(Math.round(loop.delayMs))} late${placed(loop)}, over limits.eventLoopDelay (${formatDuration(loop.limitMs)}), so new requests are refused${held(shed)}`
    return [finding('critical', 'process', cause, { since: loop.since })]
  }
  const late = report.runtimes.flatMap(({ process, eventLoop: { delayMs } }): readonly Finding[] => {
    if (delayMs === null || delayMs.p99 < lateMs) return []
    const of = process === 'gateway' ? '' : ` of ${process}`
    const cause = `the event loop${of} is up to ${formatDuration(Math.round(delayMs.p99))} late: something keeps the process from its work`
    return [finding('warning', 'process', cause)]
  })
  if (shed.lastQuarter === 0) return late
  const was = `the event loop was late, over limits.eventLoopDelay${held(shed)}`
  return [...late, finding(shed.lastMinute > 0 ? 'warning' : 'notice', 'process', was, { since: shed.firstAt })]
}

const heap = ({ report }: Reading): readonly Finding[] =>
  report.runtimes.flatMap(({ process, heap: { usedBytes, limitBytes } }): readonly Finding[] => {
    if (usedBytes < fullHeap * limitBytes) return []
    const share = Math.round((usedBytes / limitBytes) * 100)
    return [finding('warning', 'process', `the heap of ${process} is ${share} % full: at 100 % the process ends`)]
  })

const log = ({ droppedLines }: Reading): readonly Finding[] =>
  droppedLines === 0
    ? []
    : [finding('notice', 'log', `${droppedLines} log lines were dropped since the start: their reader is too slow`)]
