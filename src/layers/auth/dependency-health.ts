import { epochMs } from '../../clock.ts'

/** How it stands with a server that credentials are checked by. Times are milliseconds since the epoch. */
export type DependencyHealthState = ReturnType<DependencyHealth['state']>

/** Knows whether a server can be asked, and has it told when that changes: why not, or null. */
export class DependencyHealth {
  readonly #onChange: (error: string | null) => void
  readonly #recoveryMs: number
  /** Why it could not be asked last; null: it could. */
  error: string | null = null
  #since = epochMs()
  /** When it last answered as it should; null: never. */
  #lastSuccess: number | null = null
  #lastFailure = 0

  /** What fails now and then is well again when it has not failed for `calmMs`: it need not say so at every request. */
  constructor(onChange: (error: string | null) => void, recoveryMs: number) {
    this.#onChange = onChange
    this.#recoveryMs = recoveryMs
  }

  state() {
    return { error: this.error, since: this.#since, lastSuccess: this.#lastSuccess }
  }

  recordSuccess(): void {
    this.#lastSuccess = epochMs()
    if (this.error !== null && this.#lastSuccess - this.#lastFailure >= this.#recoveryMs) this.#change(null)
  }

  recordFailure(error: string): void {
    this.#lastFailure = epochMs()
    if (this.error === null) this.#change(error)
    else this.error = error
  }

  #change(error: string | null): void {
    this.error = error
    this.#since = epochMs()
    this.#onChange(error)
  }
}
