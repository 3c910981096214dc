import type { NotServing } from '../../snapshot/report.ts'
import { formatDuration } from '../../units.ts'
import { type Finding, finding, held, placed, tallyOf } from './finding.ts'
import type { Reading } from './reading.ts'

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
