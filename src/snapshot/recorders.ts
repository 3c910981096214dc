import type { Config } from '../config/config.ts'
import { accessLog } from '../observe/access-log.ts'
import { type Auditor, auditRecorder } from '../observe/audit/line.ts'
import type { Recorder } from '../observe/exchanged.ts'
import type { Log } from '../observe/log.ts'
import { Meter } from '../observe/metrics/meter.ts'
import { Refusals } from '../observe/refusals/refusals.ts'
import { Runtime } from '../observe/runtime.ts'
import { spans } from '../observe/tracing/tracing.ts'

/** Is what one process observes its exchanges by. There is one for all its snapshots. */
export interface Observation {
  /** Null: no line is written. */
  readonly log: Log | null
  readonly meter: Meter
  readonly refusals: Refusals
  readonly runtime: Runtime
  /** What the process is called: `gateway` when there is but one. */
  readonly process: string
}

/** Makes that of a process that has seen nothing yet. */
export const openObservation = (log: Log | null, process: string): Observation => ({
  log,
  meter: new Meter(),
  refusals: new Refusals(),
  runtime: new Runtime(),
  process,
})

/** Lists who hears of every exchange, in that order; what is off is not in it. */
export const recorders = (
  { audit, metrics, tracing, log: { access } }: Config,
  { log, meter, refusals }: Observation,
  auditor: Auditor,
): readonly Recorder[] =>
  [
    audit === null ? null : auditRecorder(auditor),
    metrics === null ? null : meter.recorder(metrics.clients),
    refusals,
    typeof tracing?.otlp === 'string' ? spans : null,
    access && log !== null ? accessLog(log) : null,
  ].filter((each) => each !== null)
