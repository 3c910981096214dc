import type { WorkerState } from '../snapshot/report.ts'
import { time } from './time.ts'

/** Tells of one of several processes that serve clients. */
export const workerStatus = ({ worker, pid, state, startedAt, restarts, inFlight, config }: WorkerState) => ({
  worker,
  pid,
  state,
  startedAt: startedAt === null ? null : time(startedAt),
  restarts,
  inFlight,
  config,
})
