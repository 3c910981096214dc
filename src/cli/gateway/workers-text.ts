import type { WorkerStatus } from './answers.ts'
import { span } from './span.ts'
import type { Row } from './table.ts'

/** Lists the processes that serve; `hash` is of what all of them should run. */
export const workerRows = (workers: readonly WorkerStatus[], hash: string, at: number): readonly Row[] => [
  ['worker', 'process', 'up', 'in flight', 'restarts', 'state'],
  ...workers.map(
    (each): Row => [
      `${each.worker}`,
      each.pid === null ? 'none' : `${each.pid}`,
      each.startedAt === null ? '' : upText(each.startedAt, at),
      each.inFlight === null ? '?' : `${each.inFlight}`,
      `${each.restarts}`,
      stateText(each, hash),
    ],
  ),
]

const upText = (startedAt: string, at: number): string => {
  const ms = Date.parse(startedAt)
  return Number.isNaN(ms) ? startedAt : span((at - ms) / 1000)
}

/** Says in words how it does; what needs somebody is in capitals. */
const stateText = ({ state, config }: WorkerStatus, hash: string): string => {
  const said = words[state] ?? state
  return config === null || config === hash ? said : `${said}, RUNS ANOTHER CONFIGURATION: ${config}`
}

const words: Readonly<Record<string, string>> = {
  'not answering': 'NOT ANSWERING',
  waiting: 'ENDED AGAIN AND AGAIN: the next start waits, its log says why',
}
