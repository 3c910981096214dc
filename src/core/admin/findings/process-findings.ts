import { formatDuration } from '../../lib/text/units.ts'
import type { NotServingReason } from '../../runtime/report/status-report.ts'
import { sinceStart } from '../commands/phrases.ts'
import { rejectedPhrase, tallyFailures } from './failure-tally.ts'
import { createFinding, type Finding, wherePhrase } from './finding.ts'
import type { FindingInputs } from './finding-inputs.ts'

// Far longer than pauses of the garbage collector, or the hiccups of a machine that is shared: clients notice.
const lateMs = 500

const fullHeap = 0.9

export const processFindings = (inputs: FindingInputs): readonly Finding[] => [
  ...servingFindings(inputs),
  ...workerFindings(inputs),
  ...eventLoopFindings(inputs),
  ...heapFindings(inputs),
  ...logFindings(inputs),
]

const notServingText: Readonly<Record<NotServingReason, string>> = {
  starting: 'nobody serves clients: the gateway is starting',
  'not-listening': 'nobody serves clients: the public listener is closed; restart the gateway',
  'no-worker': 'nobody serves clients: no worker is ready',
}

const servingFindings = ({ notServing, draining }: FindingInputs): readonly Finding[] => {
  if (draining)
    return [createFinding('warning', 'process', 'the gateway stops: it finishes what runs, and /ready says no')]
  return notServing === null ? [] : [createFinding('critical', 'process', notServingText[notServing])]
}

const workerFindings = ({ workers: all, draining }: FindingInputs): readonly Finding[] =>
  draining
    ? []
    : all.flatMap(({ worker, pid, state, restarts, startedAt, heardAt }): readonly Finding[] => {
        const again = restarts === 0 ? '' : `, after ${restarts} before it ${sinceStart}`
        if (state === 'not answering')
          return [
            createFinding('warning', 'workers', `worker ${worker} gives no sign of life`, {
              since: heardAt ?? startedAt,
              details: [`if it stays so, kill -9 ${pid} has it replaced`],
            }),
          ]
        if (state === 'waiting')
          return [createFinding('warning', 'workers', `worker ${worker} has ended${again}; another is started`)]
        return []
      })

const eventLoopFindings = ({ report }: FindingInputs): readonly Finding[] => {
  const { eventLoop: loop } = report.limits
  const shed = tallyFailures(report.recentErrors.causes.filter(({ reason }) => reason === 'event-loop'))
  if (loop?.sheds === true) {
    const cause = `the event loop is ${formatDuration(Math.round(loop.delayMs))} late${wherePhrase(loop)}, over limits.eventLoopDelay (${formatDuration(loop.limitMs)}), so new requests are refused${rejectedPhrase(shed)}`
    return [createFinding('critical', 'process', cause, { since: loop.since, command: 'lender-gateway top' })]
  }
  const late = report.runtimes.flatMap(({ process, eventLoop: { delayMs } }): readonly Finding[] => {
    if (delayMs === null || delayMs.p99 < lateMs) return []
    const of = process === 'gateway' ? '' : ` of ${process}`
    const cause = `the event loop${of} is up to ${formatDuration(Math.round(delayMs.p99))} late: something keeps the process from its work`
    return [createFinding('warning', 'process', cause, { command: 'lender-gateway top' })]
  })
  if (shed.last15Min === 0) return late
  const was = `the event loop was late, over limits.eventLoopDelay${rejectedPhrase(shed)}`
  return [...late, createFinding(shed.lastMinute > 0 ? 'warning' : 'notice', 'process', was, { since: shed.firstAt })]
}

const heapFindings = ({ report }: FindingInputs): readonly Finding[] =>
  report.runtimes.flatMap(({ process, heap: { usedBytes, limitBytes } }): readonly Finding[] => {
    if (usedBytes < fullHeap * limitBytes) return []
    const share = Math.round((usedBytes / limitBytes) * 100)
    return [createFinding('warning', 'process', `the heap of ${process} is ${share} % full: at 100 % the process ends`)]
  })

const logFindings = ({ droppedLines }: FindingInputs): readonly Finding[] =>
  droppedLines === 0
    ? []
    : [createFinding('notice', 'log', `${droppedLines} log lines were dropped ${sinceStart}: their reader is too slow`)]
