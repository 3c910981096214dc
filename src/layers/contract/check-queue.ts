import { now } from '../../clock.ts'
import { BodyRoom } from '../../shared/bodies/body-room.ts'

// Checks that wait hold the heads of their messages.
const maxChecks = 10_000

// What a turn of the event loop may spend on checks, before clients and endpoints have theirs.
const maxTurnMs = 5

/** Runs the checks of report mode, when the bytes of their messages have been handed on. */
export class CheckQueue {
  /** The room for bodies of requests. Kept apart: slow uploads must not leave responses without room. */
  readonly requests = new BodyRoom()
  readonly responses = new BodyRoom()
  #checks: (() => void)[] = []
  #lastErrorAt = Number.NEGATIVE_INFINITY
  readonly #onError: (error: unknown) => void

  /**
   * `onError` is called when a check throws, once a second at most: a defect of the gateway, which no request is to
   * suffer from.
   */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Runs a check in a later turn of the event loop; false: too many wait. */
  add(check: () => void): boolean {
    if (this.#checks.length >= maxChecks) return false
    // Twice: what is written at the end of this turn (shared/write-batching.ts) goes out first.
    if (this.#checks.push(check) === 1) setImmediate(() => setImmediate(this.#run))
    return true
  }

  readonly #run = (): void => {
    const checks = this.#checks
    const startedAt = now()
    let done = 0
    for (const check of checks) {
      try {
        check()
      } catch (error) {
        this.#reportError(error, startedAt)
      }
      done++
      if (now() - startedAt >= maxTurnMs) break
    }
    this.#checks = checks.slice(done)
    if (this.#checks.length > 0) setImmediate(this.#run)
  }

  #reportError(error: unknown, at: number): void {
    if (at - this.#lastErrorAt < 1000) return
    this.#lastErrorAt = at
    this.#onError(error)
  }
}
