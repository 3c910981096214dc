/** Is how lines are gathered, and how long is waited for what. */
export interface WriterBounds {
  /** How long a line waits for others to be written with. */
  readonly gatherMs: number
  /** Most bytes of lines that wait; what comes beyond is lost, and counted. */
  readonly maxWaitingBytes: number
  /** How long after a write that failed the next is tried. */
  readonly retryMs: number
  /** How long a write may take before it counts as one that failed. */
  readonly slowMs: number
  readonly checkpointMs: number
}

export const usualBounds: WriterBounds = {
  gatherMs: 5,
  maxWaitingBytes: 16 * 1024 * 1024,
  retryMs: 250,
  slowMs: 5000,
  checkpointMs: 60_000,
}

/** Is what is said of a writer on /status. */
export interface WriterState {
  readonly file: string
  readonly chain: string
  /** How many lines the chain has that are written, and the HMAC of the last. */
  readonly count: number
  readonly hash: string
  /** Why nothing can be written; null: it can. */
  readonly reason: string | null
  /** Since when that is so, in ms since the epoch. */
  readonly since: number
  readonly waitingBytes: number
  readonly lost: number
}
