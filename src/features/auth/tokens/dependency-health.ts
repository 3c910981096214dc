import { epochMs, now, unrefTimeout } from '../../../core/lib/clock.ts'

/** Times are milliseconds since the epoch. */
export type DependencyHealthState = ReturnType<DependencyHealth['state']>

/** Tracks whether a server is available. `onChange` gets the error, or null when the server has recovered. */
export class DependencyHealth {
  readonly #onChange: (error: string | null) => void
  readonly #recoveryMs: number
  /** Null: the server is available. */
  error: string | null = null
  #since = epochMs()
  #lastSuccess: number | null = null
  /** On the monotonic clock, because the recovery depends on it. */
  #failedAt = 0
  /** Cancels the pending recovery. */
  #stopRecovery = (): void => {}

  /**
   * A server recovers when it has replied well and has not failed for `recoveryMs`, so that a flapping server does not
   * fill the log.
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
    // The next good response may be hours away, and operators would see an outage until then.
    this.#stopRecovery = unrefTimeout(remainingMs, () => this.#change(null))
  }

  /** Another process got a good response. Whether this process can reach the server stays unchanged. */
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
