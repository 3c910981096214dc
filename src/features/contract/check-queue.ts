import type { BodyCopy } from '../../core/exchange/bodies/body-copy.ts'
import { now } from '../../core/lib/clock.ts'
import { FairQuota, usualBodyBytes } from '../../core/lib/fair-quota.ts'

// A waiting check holds its message in memory.
const maxWaiting = 10_000

// Clients and endpoints wait while a turn of the event loop lasts.
const maxTurnMs = 5

export class DeferredWork {
  #waiting: (() => void)[] = []
  #lastErrorAt = Number.NEGATIVE_INFINITY
  readonly #onError: (error: unknown) => void

  /** `onError` is called when work throws, at most once a second. */
  constructor(onError: (error: unknown) => void) {
    this.#onError = onError
  }

  /** Runs work in a later turn of the event loop, in order; false: too much work waits. */
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

/** Runs the checks of report mode after the bytes of their messages were sent on. */
export class CheckQueue extends DeferredWork {
  /** Separate quotas for their bytes: slow uploads must not leave responses without room. */
  readonly requests = new FairQuota(usualBodyBytes)
  readonly responses = new FairQuota(usualBodyBytes)

  /** Frees the copy after the check, or at once. False: too many checks wait. */
  addFor(copy: BodyCopy | null, check: () => void): boolean {
    const isQueued = this.add(() => {
      try {
        check()
      } finally {
        copy?.free()
      }
    })
    if (!isQueued) copy?.free()
    return isQueued
  }
}
