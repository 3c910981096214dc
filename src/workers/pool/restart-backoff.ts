const firstDelayMs = 100
const maxDelayMs = 30_000
// A worker that lived so long did not end because of how it was started.
const stableAfterMs = 60_000

/** The delay before a process that ended is started again, so that a process that cannot run does not cost a core. */
export class RestartBackoff {
  #exits = 0

  /** Counts an exit. Returns the delay in ms: none after the first, then 100 ms, doubled each time up to 30 s. */
  nextDelayMs(livedMs: number): number {
    if (livedMs >= stableAfterMs) this.#exits = 0
    const doubled = firstDelayMs * 2 ** (this.#exits - 1)
    return this.#exits++ === 0 ? 0 : Math.min(doubled, maxDelayMs)
  }
}
