import type { BodyCopy } from '../../core/exchange/bodies/body-copy.ts'
import { now } from '../../core/lib/clock.ts'
import { FairQuota, usualBodyBytes } from '../../core/lib/fair-quota.ts'

// A waiting check holds its message in memory.
const maxWaiting = 10_000

// Clients and endpoints wait while a turn of the event loop lasts.
const maxTurnMs = 5

export type DeferredWork = ReturnType<typeof createDeferredWork>

/** `onError` is called at most once a second. */
export const createDeferredWork = (onError: (error: unknown) => void) => {
  let waiting: (() => void)[] = []
  let lastErrorAt = Number.NEGATIVE_INFINITY

  const reportError = (error: unknown, at: number): void => {
    if (at - lastErrorAt < 1000) return
    lastErrorAt = at
    onError(error)
  }
  const run = (): void => {
    const startedAt = now()
    let done = 0
    for (const work of waiting) {
      try {
        work()
      } catch (error) {
        reportError(error, startedAt)
      }
      done++
      if (now() - startedAt >= maxTurnMs) break
    }
    waiting = waiting.slice(done)
    if (waiting.length > 0) setImmediate(run)
  }
  return {
    /** False: too much work waits. */
    add(work: () => void): boolean {
      if (waiting.length >= maxWaiting) return false
      // Twice: what is written at the end of this turn (core/lib/clock.ts) goes out first.
      if (waiting.push(work) === 1) setImmediate(() => setImmediate(run))
      return true
    },
  }
}

export type CheckQueue = ReturnType<typeof createCheckQueue>

/** Runs the checks of report mode after the bytes of their messages were sent on. */
export const createCheckQueue = (onError: (error: unknown) => void) => {
  const { add } = createDeferredWork(onError)
  return {
    /** Separate quotas for their bytes: slow uploads must not leave responses without room. */
    requests: new FairQuota(usualBodyBytes),
    responses: new FairQuota(usualBodyBytes),
    /** False: too many checks wait. */
    addFor(copy: BodyCopy | null, check: () => void): boolean {
      const isQueued = add(() => {
        try {
          check()
        } finally {
          copy?.free()
        }
      })
      if (!isQueued) copy?.free()
      return isQueued
    },
  }
}
