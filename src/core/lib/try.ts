import { now, settlesWithinWait } from './clock.ts'
import { formatDuration } from './text/units.ts'

/** Returns what a function makes; null: it throws, for a reason that says no more, or must not be told. */
export const tryOrNull = <T>(make: () => T): T | null => {
  try {
    return make()
  } catch {
    return null
  }
}

/** The error of a server that has said nothing in time. */
export class NoAnswerError extends Error {
  constructor(ms: number) {
    super(`no answer within ${formatDuration(ms)}`)
  }
}

export interface TryOptions {
  /** How long a try may take, in milliseconds for which this process has waited. */
  readonly waitMs: number
  /** Whether a server that was silent is tried once more. By default it is not: it costs as long again. */
  readonly repeatsSilent?: boolean
}

// A machine that is busy all the time is busy for the last of them too.
const maxTries = 4

// A process that was late for so large a part of a try may have missed what was said in time.
const busyShare = 0.2

/**
 * Tries whether a server outside does what it should. A try that failed while this process stood still, or was busy,
 * shows nothing of the server, whatever timer has ended it: it is made again. `attempt` gets a signal that is aborted
 * when its try is over. Rejects with the error of the last try.
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
      outcome.catch(() => {}) // what it says later has no effect
      failure = new NoAnswerError(waitMs)
    } catch (error) {
      failure = error
    } finally {
      isBusy = endLateness() >= busyShare
      controller.abort()
    }
    const isRepeated = isBusy || (repeatsSilent && tries === 1 && failure instanceof NoAnswerError)
    if (!isRepeated || tries === maxTries) throw failure
  }
}

const tickMs = 10

/** Measures how late the timers of this process are. Returns a function that ends it, and says for what share of it. */
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

/** Returns the message of what was thrown, which may be no `Error`. */
export const errorMessage = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown))
