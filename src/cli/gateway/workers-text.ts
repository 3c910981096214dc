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
const stateText = ({ state, pid, config }: WorkerStatus, hash: string): string => {
  if (state === 'not answering') return `NOT ANSWERING: if it stays so, kill -9 ${pid} has it replaced`
  if (state === 'waiting') return 'ENDED AGAIN AND AGAIN: the next start waits, the log says why'
  return config === null || config === hash ? state : `${state}, RUNS ANOTHER CONFIGURATION: ${config}`
}
