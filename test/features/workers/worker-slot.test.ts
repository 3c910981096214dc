import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { WorkerEvents, WorkerProcess } from '../../../src/features/workers/worker-process.ts'
import { createWorkerSlot, type WorkerSlot } from '../../../src/features/workers/worker-supervisor.ts'

const events: WorkerEvents[] = []
const killed: string[] = []
vi.mock('../../../src/features/workers/worker-process.ts', () => ({
  WorkerProcess: class {
    readonly livedMs = 0
    constructor(_: unknown, workerEvents: WorkerEvents) {
      events.push(workerEvents)
    }
    kill(reason: string) {
      killed.push(reason)
    }
  },
}))

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.useRealTimers()
  events.length = 0
  killed.length = 0
})

const none = () => null

const createSlot = (): WorkerSlot =>
  createWorkerSlot(1, {
    ...{ startMs: 30_000, hangMs: 30_000, createInit: vi.fn(), onOutput: none, onStart: none, onReady: none },
    ...{ onConnectionAck: none, onHandOff: none, onCall: none, onNotification: none, onConnectionReturned: none },
    ...{ onConnectionsClosed: none, onDisconnect: none, onExit: none },
  })

const workerOf = ({ worker }: WorkerSlot): WorkerProcess => {
  if (worker === null) throw new Error('no worker was started')
  return worker
}

test('a slot serves from when its worker is ready until that disconnects, and then from when the next one is ready', () => {
  const slot = createSlot()
  const steps = [
    () => slot.spawn(),
    () => events[0]?.onReady(workerOf(slot)),
    () => events[0]?.onDisconnect(workerOf(slot)),
    () => {
      events[0]?.onExit({ code: 1, signal: null }, workerOf(slot))
      vi.runOnlyPendingTimers()
    },
    () => events[1]?.onReady(workerOf(slot)),
  ]
  const seen = steps.map((step) => {
    step()
    return slot.isServing
  })

  expect(seen).toEqual([false, true, false, false, true])
  expect([events.length, slot.restarts]).toEqual([2, 1])
})

test('a worker that does not serve within 30 s is killed, and one that serves is not', () => {
  const [slow, prompt] = [createSlot(), createSlot()]
  slow.spawn()
  prompt.spawn()

  events[1]?.onReady(workerOf(prompt))
  vi.advanceTimersByTime(29_999)
  const before = [...killed]
  vi.advanceTimersByTime(60_000)

  expect(before).toEqual([])
  expect(killed).toEqual(['did not serve within 30s'])
})
