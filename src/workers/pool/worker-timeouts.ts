/** Says how long a worker is waited for, in ms. */
export interface WorkerTimeouts {
  /** Until it serves. */
  readonly startMs: number
  /** Until it has answered whether it can take a configuration, or that it has. */
  readonly answerMs: number
  /** Until it has said how it does. */
  readonly reportMs: number
  /** Until it has taken a connection. */
  readonly connectionAckMs: number
  /** Until it has been told what a count of all of them came to: not how long it is waited for, but how long it waits. */
  readonly countMs: number
  /** Until it has given any sign of life, when it has not kept one of these. */
  readonly hangMs: number
}

export const defaultWorkerTimeouts: WorkerTimeouts = {
  startMs: 30_000,
  answerMs: 10_000,
  reportMs: 1000,
  connectionAckMs: 1000,
  countMs: 20,
  hangMs: 30_000,
}
