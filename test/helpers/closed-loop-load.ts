import { expect } from 'vitest'

/** A load of several lanes, each of which asks anew as soon as it has its response. */
export interface ClosedLoopLoad<T> {
  /** What came of each request so far. */
  readonly responses: readonly T[]
  /** Waits until so many more have got a response. */
  more(count: number): Promise<void>
  /** Asks no more, and waits for what is under way. */
  stop(): Promise<void>
}

/** Sends requests on eight lanes until they are stopped; `ask` is given the number of its lane. */
export const startClosedLoop = <T>(ask: (lane: number) => Promise<T>): ClosedLoopLoad<T> => {
  const responses: T[] = []
  let stopped = false
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    while (!stopped) responses.push(await ask(lane))
  })
  return {
    responses: responses,
    async more(count) {
      const wantedCount = responses.length + count
      await expect.poll(() => responses.length, { timeout: 120_000, interval: 5 }).toBeGreaterThan(wantedCount)
    },
    async stop() {
      stopped = true
      await Promise.all(lanes)
    },
  }
}
