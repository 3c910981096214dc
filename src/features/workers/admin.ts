import type { PlacedFindings, PlacedMetrics, PlacedStatus } from '../../core/admin/admin-part.ts'
import type { StatusInputs } from '../../core/admin/api/status.ts'
import { sinceStart } from '../../core/admin/commands/phrases.ts'
import { finding } from '../../core/admin/findings/finding.ts'
import type { FindingSource } from '../../core/admin/findings/finding-inputs.ts'
import { type MetricDefinitions, seriesFor } from '../../core/admin/metrics/metric.ts'
import { asList } from '../../core/lib/text/decode.ts'
import * as field from '../../core/runtime/status/field.ts'

const workerField = field.record({
  worker: field.number,
  pid: field.optionalNumber,
  /** `waiting`: the next start is delayed. `ended`: the gateway stops. */
  state: field.word<'starting' | 'serving' | 'draining' | 'not replying' | 'waiting' | 'ended'>(),
  startedAt: field.optionalTime,
  /** Milliseconds since the epoch; null: it never replied. */
  heardAt: field.hidden<number | null>(),
  restarts: field.number,
  /** Requests to upstreams; null: the worker did not reply. */
  inFlight: field.optionalNumber,
  /** Null: the worker runs no configuration yet. */
  config: field.optionalText,
})

export type WorkerStatus = field.Reported<typeof workerField>

declare module '../../core/runtime/status/status-part.ts' {
  interface Status {
    /** Empty: one process serves. */
    readonly workers: readonly field.Shown<typeof workerField>[]
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
        if (state === 'not replying')
          return finding('worker-silent', 'warning', 'workers', { ...facts, since }, ({ worker, pid }) => [
            `worker ${worker} does not reply`,
            `if this lasts: kill -9 ${pid}, and another worker starts`,
          ])
        if (state !== 'waiting') return []
        return finding('worker-ended', 'warning', 'workers', facts, ({ worker, restarts }) => [
          `worker ${worker} has ended${restarts === 0 ? '' : `, after ${restarts} before it ${sinceStart}`}; another is started`,
        ])
      })

export const findings: readonly PlacedFindings[] = [{ after: 'serving', value: workerFindings }]

const worker = seriesFor(['worker'], ({ parts }) => parts.workers.states.map((each) => [String(each.worker), each]))

const workerMetrics: MetricDefinitions = {
  worker_serving: worker.gauge('Whether the worker serves (1).', ({ state }) => state === 'serving'),
  worker_restarts_total: worker.counter('Replacements of the worker.', 'restarts'),
}

export const metrics: readonly PlacedMetrics[] = [{ after: 'process', value: workerMetrics }]

export const loadPage = () => import('./page.ts')

export const loadStatusTexts = () => import('./status-text.ts')
