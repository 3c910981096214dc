import { now } from '../../core/lib/clock.ts'

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
