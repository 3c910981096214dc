import { setImmediate as turn } from 'node:timers/promises'

interface Due {
  readonly at: number
  readonly call: () => void
}

/**
 * Stands in for the clock and the timers of a program: time passes only when nothing is left to do. Unlike the fake
 * timers of a test runner it needs none, and knows fractions of a millisecond. `random` is in the place of Math.random:
 * the same program does the same each time.
 */
export const onSimulatedClock = async <T>(random: () => number, run: (at: () => number) => Promise<T>): Promise<T> => {
  const before = { setTimeout, clearTimeout, random: Math.random, now: performance.now, wallClock: Date.now }
  const due = new Set<Due>()
  let at = 0
  const set = (call: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
    const timer = { at: at + ms, call: () => call(...args), unref: () => timer, ref: () => timer }
    due.add(timer)
    return timer
  }
  Object.assign(globalThis, { setTimeout: set, clearTimeout: (timer: Due) => due.delete(timer) })
  Object.assign(performance, { now: () => at })
  Object.assign(Date, { now: () => at })
  Object.assign(Math, { random })
  try {
    let done = false
    const running = run(() => at).finally(() => {
      done = true
    })
    while (!done) {
      await turn()
      let next: Due | null = null
      for (const each of due) if (next === null || each.at < next.at) next = each
      if (next === null) continue
      due.delete(next)
      at = Math.max(at, next.at)
      next.call()
    }
    return await running
  } finally {
    Object.assign(globalThis, { setTimeout: before.setTimeout, clearTimeout: before.clearTimeout })
    Object.assign(performance, { now: before.now })
    Object.assign(Date, { now: before.wallClock })
    Object.assign(Math, { random: before.random })
  }
}
