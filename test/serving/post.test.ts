import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Post } from '../../src/serving/post.ts'
import type { WorkerEvents, WorkerProcess } from '../../src/serving/worker-process.ts'

const heardBy: WorkerEvents[] = []
vi.mock('../../src/serving/worker-process.ts', () => ({
  WorkerProcess: class {
    readonly livedMs = 0
    constructor(_: unknown, heard: WorkerEvents) {
      heardBy.push(heard)
    }
  },
}))

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

test('a post serves from when its worker says so until that is gone, and then from when the next one says so', () => {
  const none = () => null
  const post = new Post(1, {
    ...{ startMs: 30_000, hangMs: 30_000, start: vi.fn(), output: none, started: none, serving: none, taken: none },
    ...{ handed: none, takeAll: none, audited: none, invalidated: none, returned: none, left: none, gone: none },
    ended: none,
  })
  const seen: boolean[] = []
  const there = (): WorkerProcess => {
    if (post.worker === null) throw new Error('no worker was started')
    return post.worker
  }
  const look = (): void => void seen.push(post.isServing)

  post.fill()
  look()
  heardBy[0]?.serving(there())
  look()
  heardBy[0]?.gone(there())
  look()
  heardBy[0]?.ended({ code: 1, signal: null }, there())
  vi.runOnlyPendingTimers()
  look()
  heardBy[1]?.serving(there())
  look()

  expect(seen).toEqual([false, true, false, false, true])
  expect([heardBy.length, post.restarts]).toEqual([2, 1])
})
