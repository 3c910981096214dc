import { expect } from 'vitest'

/** Says when a wait began at the earliest and at the latest, and when it was over. Times are of the monotonic clock. */
export interface TimedWait {
  readonly after: number
  readonly before: number
  readonly over: number
}

// A busy machine is late now and then, and not each time.
const mostTries = 20

/** Holds that a wait is never shorter than its limit, and in the best of several tries at most 50 ms longer. */
export const expectExact = async (boundMs: number, attempt: () => Promise<TimedWait>): Promise<void> => {
  for (let tries = 1; ; tries++) {
    const { after, before, over } = await attempt()
    expect(over - after).toBeGreaterThanOrEqual(boundMs)
    if (over - before - boundMs <= 50) return
    if (tries === mostTries) expect(over - before - boundMs).toBeLessThanOrEqual(50)
  }
}
