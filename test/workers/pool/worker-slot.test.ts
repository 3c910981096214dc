import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { WorkerEvents, WorkerProcess } from '../../../src/workers/pool/worker-process.ts'
import { WorkerSlot } from '../../../src/workers/pool/worker-slot.ts'

const heardBy: WorkerEvents[] = []
const killed: string[] = []
vi.mock('../../../src/workers/pool/worker-process.ts', () => ({
  WorkerProcess: class {
    readonly livedMs = 0
    constructor(_: unknown, heard: WorkerEvents) {
      heardBy.push(heard)
    }
    kill(reason: string) {
      killed.push(reason)
    }
  },
}))

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

afterEach(() => {
  heardBy.length = 0
  killed.length = 0
})

const none = () => null

const openPost = (): WorkerSlot =>
  new WorkerSlot(1, {
    ...{
      startMs: 30_000,
      hangMs: 30_000,
      createInit: vi.fn(),
      onOutput: none,
      onStart: none,
      onReady: none,
      onConnectionAck: none,
    },
    ...{
      onHandOff: none,
      onConsume: none,
      onAuditLines: none,
      onInvalidated: none,
      onConnectionReturned: none,
      onConnectionsClosed: none,
      onDisconnect: none,
    },
    onExit: none,
  })

const workerOf = ({ worker }: WorkerSlot): WorkerProcess => {
  if (worker === null) throw new Error('no worker was started')
  return worker
}

test('a post serves from when its worker says so until that is gone, and then from when the next one says so', () => {
  const post = openPost()
  const seen: boolean[] = []
  const look = (): void => void seen.push(post.isServing)

  post.spawn()
  look()
  heardBy[0]?.onReady(workerOf(post))
  look()
  heardBy[0]?.onDisconnect(workerOf(post))
  look()
  heardBy[0]?.onExit({ code: 1, signal: null }, workerOf(post))
  vi.runOnlyPendingTimers()
  look()
  heardBy[1]?.onReady(workerOf(post))
  look()

  expect(seen).toEqual([false, true, false, false, true])
  expect([heardBy.length, post.restarts]).toEqual([2, 1])
})

test('a worker that does not serve within 30 s is killed, and one that serves is not', () => {
  const [slow, prompt] = [openPost(), openPost()]
  slow.spawn()
  prompt.spawn()

  heardBy[1]?.onReady(workerOf(prompt))
  vi.advanceTimersByTime(29_999)
  const before = [...killed]
  vi.advanceTimersByTime(60_000)

  expect(before).toEqual([])
  expect(killed).toEqual(['did not serve within 30s'])
})
