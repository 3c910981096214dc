import type { PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { type FindingSource, finding } from '../../core/admin/findings/finding.ts'
import { type MetricDefinitions, seriesFor } from '../../core/admin/metrics/metric.ts'
import { asList } from '../../core/lib/text/decode.ts'
import type { Reported, Shown } from '../../core/runtime/status/field.ts'
import * as field from '../../core/runtime/status/field.ts'

/** A worker: one of several processes that serve clients. */
const workerField = field.record({
  /** Counted from 1. A process that replaces another has its number. */
  worker: field.number,
  /** Null: there is no process. */
  pid: field.optionalNumber,
  /**
   * `waiting`: it ended, and the pause before its next start is not over. `ended`: the gateway stops, so there is no
   * next one.
   */
  state: field.word<'starting' | 'serving' | 'draining' | 'not answering' | 'waiting' | 'ended'>(),
  /** When the process was started. Null: there is no process. */
  startedAt: field.optionalTime,
  /** When it last replied, in ms since the epoch. Null: it has not yet. */
  heardAt: field.hidden<number | null>(),
  /** How often a process with its number ended and was replaced. */
  restarts: field.number,
  /** Requests on their way to upstreams. Null: it did not reply. */
  inFlight: field.optionalNumber,
  /** The hash of the configuration that it runs. Null: it runs none yet. */
  config: field.optionalText,
})

/** The state of a worker. Times are milliseconds since the epoch. */
export type WorkerStatus = Reported<typeof workerField>

declare module '../../core/admin/api/status.ts' {
  interface Status {
    /** None: one process serves. */
    readonly workers: readonly Shown<typeof workerField>[]
  }
}

export const status: readonly PlacedStatus[] = [
  {
    before: 'upstreams',
    key: 'workers',
    field: field.derived(asList(workerField.decode), ({ inputs }: StatusInputs, context) =>
      inputs.parts.workers.states.map((worker) => workerField.show(worker, context)),
    ),
  },
]

const workerFindings: FindingSource = ({ parts, draining }) =>
  draining
    ? []
    : parts.workers.states.flatMap(({ worker, pid, state, restarts, startedAt, heardAt }) => {
        const facts = { worker, pid, restarts }
        const since = heardAt ?? startedAt
        if (state === 'not answering')
          return finding('worker-silent', 'warning', 'workers', { ...facts, since }, ({ worker, pid }) => [
            `worker ${worker} gives no sign of life`,
            `if it stays so, kill -9 ${pid} has it replaced`,
          ])
        if (state !== 'waiting') return []
        return finding('worker-ended', 'warning', 'workers', facts, ({ worker, restarts }) => [
          `worker ${worker} has ended${restarts === 0 ? '' : `, after ${restarts} before it ${sinceStart}`}; another is started`,
        ])
      })

export const findings: readonly PlacedFindings[] = [{ after: 'serving', value: workerFindings }]

const worker = seriesFor(['worker'], ({ parts }) => parts.workers.states.map((each) => [String(each.worker), each]))

const workerMetrics: MetricDefinitions = {
  worker_serving: worker.gauge('Whether a worker serves (1).', ({ state }) => state === 'serving'),
  worker_restarts_total: worker.counter('How often a worker ended and was replaced.', 'restarts'),
}

export const metrics: readonly PlacedMetrics[] = [{ after: 'process', value: workerMetrics }]
