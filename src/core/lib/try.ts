import { now, settlesWithinWait } from './clock.ts'
import { formatDuration } from './text/units.ts'

export const tryOrNull = <T>(make: () => T): T | null => {
  try {
    return make()
  } catch {
    return null
  }
}

export class NoResponseError extends Error {
  constructor(ms: number) {
    super(`no response within ${formatDuration(ms)}`)
  }
}

export interface TryOptions {
  /** The limit of one try, by `settlesWithinWait`. */
  readonly waitMs: number
  /** Off by default: it costs as long again. */
  readonly repeatsSilent?: boolean
}

// A machine that is always busy is busy for the last try too.
const maxTries = 4

// With timers this late, the process may have missed a response.
const busyShare = 0.2

/**
 * Repeats a try that failed while this process was busy: it shows nothing of the server. The signal is aborted after
 * each try. Rejects with the last error.
 */
export const tryOutside = async <T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  { waitMs, repeatsSilent = false }: TryOptions,
): Promise<T> => {
  for (let tries = 1; ; tries++) {
    const controller = new AbortController()
    const endLateness = measureLateness()
    let failure: unknown
    let isBusy: boolean
    try {
      const outcome = attempt(controller.signal)
      if (await settlesWithinWait(waitMs, outcome)) return await outcome
      outcome.catch(() => {}) // a later result has no effect
      failure = new NoResponseError(waitMs)
    } catch (error) {
      failure = error
    } finally {
      isBusy = endLateness() >= busyShare
      controller.abort()
    }
    const isRepeated = isBusy || (repeatsSilent && tries === 1 && failure instanceof NoResponseError)
    if (!isRepeated || tries === maxTries) throw failure
  }
}

const tickMs = 10

/** Returns a function that ends the measurement, and returns the share of time by which timers were late. */
const measureLateness = (): (() => number) => {
  const startedAt = now()
  let [last, lateMs] = [startedAt, 0]
  const tick = (): void => {
    const at = now()
    lateMs += Math.max(0, at - last - 2 * tickMs)
    last = at
  }
  const timer = setInterval(tick, tickMs)
  return () => {
    clearInterval(timer)
    tick()
    return last === startedAt ? 0 : lateMs / (last - startedAt)
  }
}

export const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
