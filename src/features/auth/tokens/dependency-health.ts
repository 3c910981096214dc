import { epochMs, now, unrefTimeout } from '../../../core/lib/clock.ts'

/** Times are milliseconds since the epoch. */
export type DependencyHealthState = ReturnType<DependencyHealth['state']>

/** Tracks whether a server is available, and calls back when that changes: with the error, or null. */
export class DependencyHealth {
  readonly #onChange: (error: string | null) => void
  readonly #recoveryMs: number
  /** The error of the last failure; null: the server is available. */
  error: string | null = null
  #since = epochMs()
  #lastSuccess: number | null = null
  /** By the clock that nothing sets back, as whether it recovers depends on it. */
  #failedAt = 0
  /** Ends the wait of a server that has answered well since its last failure. */
  #stopRecovery = (): void => {}

  /**
   * A server that fails now and then recovers when it has answered well, and has not failed for `recoveryMs`: the log
   * need not repeat it for every request.
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
    if (this.error === null) return
    this.#stopRecovery()
    const remainingMs = this.#failedAt + this.#recoveryMs - now()
    if (remainingMs <= 0) return this.#change(null)
    // The next good response may be hours away. Until then operators would be told of an outage.
    this.#stopRecovery = unrefTimeout(remainingMs, () => this.#change(null))
  }

  /** Records a good response that another process got. Whether this one can reach the server stays as it was. */
  recordPeerSuccess(at: number): void {
    this.#lastSuccess = at
  }

  recordFailure(error: string): void {
    this.#stopRecovery()
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
