import { wallClock } from '../../clock.ts'

/** How it stands with a server that credentials are checked by. Times are milliseconds since the epoch. */
export type StandingState = ReturnType<Standing['state']>

/** Knows whether a server can be asked, and has it told when that changes: why not, or null. */
export class Standing {
  readonly #onChange: (error: string | null) => void
  readonly #calmMs: number
  /** Why it could not be asked last; null: it could. */
  error: string | null = null
  #since = wallClock()
  /** When it last answered as it should; null: never. */
  #lastSuccess: number | null = null
  #lastFailure = 0

  /** What fails now and then is well again when it has not failed for `calmMs`: it need not say so at every request. */
  constructor(onChange: (error: string | null) => void, calmMs: number) {
    this.#onChange = onChange
    this.#calmMs = calmMs
  }

  state() {
    return { error: this.error, since: this.#since, lastSuccess: this.#lastSuccess }
  }

  answered(): void {
    this.#lastSuccess = wallClock()
    if (this.error !== null && this.#lastSuccess - this.#lastFailure >= this.#calmMs) this.#change(null)
  }

  failed(error: string): void {
    this.#lastFailure = wallClock()
    if (this.error === null) this.#change(error)
    else this.error = error
  }

  #change(error: string | null): void {
    this.error = error
    this.#since = wallClock()
    this.#onChange(error)
  }
}
