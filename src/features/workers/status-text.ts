import type { StatusText } from '../../core/admin/admin-part.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { humanizeSeconds } from '../../core/lib/text/format-time.ts'
import { formatTable, type TableRow } from '../../core/lib/text/table.ts'
import type { Status } from '../../core/runtime/status/status-part.ts'

const workerRows = (workers: Status['workers'], hash: string, at: number): readonly TableRow[] => [
  ['worker', 'process', 'up', 'in flight', `restarts ${sinceStart}`, 'state'],
  ...workers.map(
    (worker): TableRow => [
      `${worker.worker}`,
      `${worker.pid ?? 'none'}`,
      worker.startedAt === null ? '' : renderUptime(worker.startedAt, at),
      `${worker.inFlight ?? '?'}`,
      `${worker.restarts}`,
      describeWorker(worker, hash),
    ],
  ),
]

const renderUptime = (startedAt: string, at: number): string => {
  const ms = Date.parse(startedAt)
  return Number.isNaN(ms) ? startedAt : humanizeSeconds((at - ms) / 1000)
}

/** Capitals mark a state that needs an operator. */
const describeWorker = ({ state, pid, config }: Status['workers'][number], hash: string): string => {
  if (state === 'not replying') return `NOT REPLYING: if this lasts: kill -9 ${pid}, and another worker starts`
  if (state === 'waiting') return 'ENDED REPEATEDLY: the next start waits, the log says why'
  return config === null || config === hash ? state : `${state}, RUNS ANOTHER CONFIGURATION: ${config}`
}

export const texts: readonly StatusText[] = [
  {
    before: 'upstreams',
    key: 'workers',
    render: ({ workers, config }, at) =>
      workers.length === 0 ? null : formatTable(workerRows(workers, config.hash, at)),
    inTop: true,
  },
]
