import { now } from '../../core/lib/clock.ts'
import { FairQuota, usualBodyBytes } from '../../core/lib/fair-quota.ts'

/** The checks of report mode, which run when the bytes of their messages have been handed on, and their room. */
export class CheckQueue {
  /** The room for bodies of requests. Kept apart: slow uploads must not leave responses without room. */
  readonly requests = new FairQuota(usualBodyBytes)
  readonly responses = new FairQuota(usualBodyBytes)
  readonly #work: DeferredWork

  /** `onError` is called when a check throws, once a second at most. */
  constructor(onError: (error: unknown) => void) {
    this.#work = new DeferredWork(onError)
  }

  /** Runs a check in a later turn of the event loop; false: too many wait. */
  add(check: () => void): boolean {
    return this.#work.add(check)
  }
}

// Work that waits holds what it is about.
const maxWaiting = 10_000

// What a turn of the event loop may spend on it, before clients and endpoints have theirs.
const maxTurnMs = 5

/** Runs work that no byte waits for, in later turns of the event loop and in the order in which it came. */
export class DeferredWork {
  #waiting: (() => void)[] = []
  #lastErrorAt = Number.NEGATIVE_INFINITY
  readonly #onError: (error: unknown) => void

  /**
   * `onError` is called when work throws, once a second at most: a defect of the gateway, which no request is to
   * suffer from.
   */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Runs work in a later turn of the event loop; false: too much waits. */
  add(work: () => void): boolean {
    if (this.#waiting.length >= maxWaiting) return false
    // Twice: what is written at the end of this turn (core/lib/clock.ts) goes out first.
    if (this.#waiting.push(work) === 1) setImmediate(() => setImmediate(this.#run))
    return true
  }

  readonly #run = (): void => {
    const waiting = this.#waiting
    const startedAt = now()
    let done = 0
    for (const work of waiting) {
      try {
        work()
      } catch (error) {
        this.#reportError(error, startedAt)
      }
      done++
      if (now() - startedAt >= maxTurnMs) break
    }
    this.#waiting = waiting.slice(done)
    if (this.#waiting.length > 0) setImmediate(this.#run)
  }

  #reportError(error: unknown, at: number): void {
    if (at - this.#lastErrorAt < 1000) return
    this.#lastErrorAt = at
    this.#onError(error)
  }
}
