import { expect, test, vi } from 'vitest'
import { Overrides } from '../../../src/core/runtime/overrides.ts'
import { createDataPlane } from '../../../src/core/runtime/snapshot/data-plane.ts'
import { collectReport } from '../../../src/core/runtime/status/report.ts'
import type { StatusReport } from '../../../src/core/runtime/status/status-part.ts'
import type { WorkerProcess } from '../../../src/features/workers/worker-process.ts'
import { createWorkerStats } from '../../../src/features/workers/worker-stats.ts'
import type { WorkerSlot } from '../../../src/features/workers/worker-supervisor.ts'
import { testConfig } from '../../helpers/gateway.ts'

const config = testConfig({ upstream: 'http://127.0.0.1:1' })
const plane = await createDataPlane({ config, overrides: new Overrides(), sandboxOrigin: null }, { logEvent: () => {} })
const idle = collectReport(plane.currentSnapshot)
await plane.close(0)

/** Creates the slot of a worker with so many requests in flight, which replies so often and then hangs. */
const slotOf = (number: number, inFlight: number, replies = Number.POSITIVE_INFINITY) => {
  const { market } = idle.upstreams
  const endpoints = market.endpoints.map((endpoint) => ({ ...endpoint, inFlight }))
  const report: StatusReport = { ...idle, upstreams: { ...idle.upstreams, market: { ...market, endpoints } } }
  let calls = 0
  const call = () =>
    ++calls > replies ? new Promise(() => {}) : Promise.resolve({ report, droppedLines: 0, config: config.hash })
  return { number, isServing: true, worker: { pid: number, call } } as unknown as WorkerSlot
}

const inFlight = ({ upstreams }: StatusReport) => upstreams.market.endpoints[0]?.inFlight

test('a report that is asked for after a change shares no poll from before it', async () => {
  const before = Promise.withResolvers<unknown>()
  const slot = slotOf(1, 3)
  const call = vi.spyOn(slot.worker as WorkerProcess, 'call').mockReturnValueOnce(before.promise as Promise<never>)
  const stats = createWorkerStats([slot], { reportMs: 60_000, urgentReplyMs: 1 })
  const early = [stats.collect(() => idle), stats.collect(() => idle)]

  stats.expire()
  const late = await stats.collect(() => idle)
  before.reject(new Error('it has ended'))

  expect([...(await Promise.all(early)), late].map(inFlight)).toEqual([0, 0, 3])
  expect(call).toHaveBeenCalledTimes(2)
})

test('a report waits for no worker that hangs when something urgent has come: what that said last counts', async () => {
  const stats = createWorkerStats([slotOf(1, 2), slotOf(2, 3, 1)], { reportMs: 60_000, urgentReplyMs: 1 })

  const first = await stats.collect(() => idle)
  const hurried = await stats.collect(() => idle, Promise.resolve())

  expect([inFlight(first), inFlight(hurried)]).toEqual([5, 5])
})
