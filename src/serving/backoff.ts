const firstPauseMs = 100
const longestPauseMs = 30_000
// Whoever lived so long did not end because of how it was started.
const soundAfterMs = 60_000

/** Says how long to wait before a process that ended is started again, so that one that cannot run does not cost a core. */
export class Backoff {
  #ends = 0

  /** Counts an end, and tells the pause in ms: none after the first, then 100 ms, doubled each time up to 30 s. */
  ended(livedMs: number): number {
    if (livedMs >= soundAfterMs) this.#ends = 0
    const doubled = firstPauseMs * 2 ** (this.#ends - 1)
    return this.#ends++ === 0 ? 0 : Math.min(doubled, longestPauseMs)
  }
}
