import type { Reported } from './field.ts'
import * as field from './field.ts'

/** A worker: one of several processes that serve clients. */
export const workerField = field.record({
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
