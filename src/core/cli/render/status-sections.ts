import type { Status } from '../../admin/api/status.ts'
import { isMutatingCommand } from '../../admin/commands/command-groups.ts'
import { sinceStart } from '../../admin/commands/phrases.ts'
import { formatAgo, formatTimeLeft, humanizeSeconds } from './format-time.ts'
import type { TableRow } from './table.ts'

/** Renders the findings, the worst first, each with a command that shows more, or a line that there are none. */
export const renderFindings = (findings: Status['findings'], at: number): string =>
  findings.length === 0 ? 'nothing is wrong' : findings.map((finding) => renderFinding(finding, at)).join('\n')

const renderFinding = (
  { severity, about, cause, details, since, command }: Status['findings'][number],
  at: number,
): string => {
  const more = [
    ...(since === null ? [] : [`since ${formatAgo(since, at)}`]),
    ...(command === null ? [] : [`${isMutatingCommand(command) ? 'to do' : 'more'}: ${command}`]),
  ]
  const first = `${(severity === 'critical' ? 'CRITICAL' : severity).padEnd(severityWidth)}  ${about}: ${cause}`
  const below = [...(more.length === 0 ? [] : [more.join('; ')]), ...details.map((detail) => `- ${detail}`)]
  return [first, ...below.map((text) => `${' '.repeat(severityWidth)}  ${text}`)].join('\n')
}

const severityWidth = 'CRITICAL'.length

/** `hash` is that of the configuration that all of them should run. */
export const workerRows = (workers: Status['workers'], hash: string, at: number): readonly TableRow[] => [
  ['worker', 'process', 'up', 'in flight', `restarts ${sinceStart}`, 'state'],
  ...workers.map(
    (worker): TableRow => [
      `${worker.worker}`,
      worker.pid === null ? 'none' : `${worker.pid}`,
      worker.startedAt === null ? '' : renderUptime(worker.startedAt, at),
      worker.inFlight === null ? '?' : `${worker.inFlight}`,
      `${worker.restarts}`,
      describeWorker(worker, hash),
    ],
  ),
]

const renderUptime = (startedAt: string, at: number): string => {
  const ms = Date.parse(startedAt)
  return Number.isNaN(ms) ? startedAt : humanizeSeconds((at - ms) / 1000)
}

/** Describes the state of a worker; what needs an operator is in capitals. */
const describeWorker = ({ state, pid, config }: Status['workers'][number], hash: string): string => {
  if (state === 'not answering') return `NOT ANSWERING: if it stays so, kill -9 ${pid} has it replaced`
  if (state === 'waiting') return 'ENDED AGAIN AND AGAIN: the next start waits, the log says why'
  return config === null || config === hash ? state : `${state}, RUNS ANOTHER CONFIGURATION: ${config}`
}

/** Lists the operations that are refused, or whose state an operator has changed for a while. */
export const operationRows = (operations: Status['operations'], at: number): readonly TableRow[] => [
  ['operation', 'state'],
  ...Object.entries(operations).map(([id, { state, until: end, orderedBy, orderReason }]): TableRow => {
    const why = orderReason === null ? '' : `: ${orderReason}`
    const stateText = state === 'refuse' ? 'REFUSED' : state === 'serve' ? 'served' : state
    return [
      id,
      end === null
        ? `${stateText} by the file`
        : `${stateText} by ${orderedBy ?? 'an operator'} until ${formatTimeLeft(end, at)}${why}`,
    ]
  }),
]
