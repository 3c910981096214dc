/** Runs before each file of tests: a file fails that leaves a server, a connection, a timer or a process behind. */
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect } from 'vitest'

/** Counts what keeps this process running, by kind. */
const countHandles = (): ReadonlyMap<string, number> => {
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind).entries()
  return new Map(kinds.map(([kind, all]) => [kind, all.length]))
}

const longestMs = 20_000

// What the first `beforeAll` returns is called behind everything else.
beforeAll(() => {
  const before = countHandles()
  const left = () => [...countHandles()].filter(([kind, count]) => count > (before.get(kind) ?? 0))
  return async () => {
    // What is told to close takes some milliseconds for it.
    const until = performance.now() + longestMs
    while (left().length > 0 && performance.now() < until) await pause(5)
    expect(left(), 'left behind').toEqual([])
  }
}, 2 * longestMs)
