/** Runs before each file of tests: a file fails that leaves a server, a connection, a timer or a process behind. */
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, expect } from 'vitest'
import { collectGarbage } from './collect-garbage.ts'

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
    const start = performance.now()
    while (left().length > 0 && performance.now() < start + longestMs) {
      await pause(5)
      // A response of `fetch` whose body nobody reads keeps its connection until it is collected.
      if (performance.now() > start + 500 && left().some(([kind]) => kind === 'TCPSocketWrap')) {
        collectGarbage()
        await pause(200)
      }
    }
    expect(left(), 'left behind').toEqual([])
  }
}, 2 * longestMs)
