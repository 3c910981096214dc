import { epochMs, now } from '../../clock.ts'

/** The health of a server that credentials are checked with. Times are milliseconds since the epoch. */
export type DependencyHealthState = ReturnType<DependencyHealth['state']>

/** Tracks whether a server is available, and calls back when that changes: with the error, or null. */
export class DependencyHealth {
  readonly #onChange: (error: string | null) => void
  readonly #recoveryMs: number
  /** The error of the last failure; null: the server is available. */
  error: string | null = null
  #since = epochMs()
  /** The time of its last good response; null: never. */
  #lastSuccess: number | null = null
  /** By the clock that nothing sets back, as whether it recovers depends on it. */
  #failedAt = 0

  /**
   * A server that fails now and then recovers when it has not failed for `recoveryMs`: the log need not repeat it for
   * every request.
   */
  constructor(onChange: (error: string | null) => void, recoveryMs: number) {
    this.#onChange = onChange
    this.#recoveryMs = recoveryMs
  }

  state() {
    return { error: this.error, since: this.#since, lastSuccess: this.#lastSuccess }
  }

  recordSuccess(): void {
    this.#lastSuccess = epochMs()
    if (this.error !== null && now() - this.#failedAt >= this.#recoveryMs) this.#change(null)
  }

  /** Records a good response that another process got. Whether this one can reach the server stays as it was. */
  recordPeerSuccess(at: number): void {
    this.#lastSuccess = Math.max(this.#lastSuccess ?? 0, at)
  }

  recordFailure(error: string): void {
    this.#failedAt = now()
    if (this.error === null) this.#change(error)
    else this.error = error
  }

  #change(error: string | null): void {
    this.error = error
    this.#since = epochMs()
    this.#onChange(error)
  }
}
