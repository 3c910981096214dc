/** A gateway that stood still between its claim and its request. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { turn } from './once-commands.ts'
import { World } from './two-gateways.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }))
afterEach(() => vi.useRealTimers())

test('a gateway that hears of its claim after the lease has run out does not forward the request', async () => {
  const world = new World()
  const [gateway] = world.gateways
  if (gateway === undefined) throw new Error('no gateway')
  const wanted = { client: '192.0.2.1', operation: 'valuation.score', key: 'a', body: 'x', size: 'small' } as const

  gateway.faults.push('slow')
  const sent = world.send(gateway, wanted)
  await turn()
  gateway.stop()
  vi.advanceTimersByTime(15_000)
  gateway.resume()
  await vi.waitFor(() => expect(sent.got).not.toBeNull())

  expect(sent.got).toEqual({ failure: 'idempotency-unavailable' })
  expect(world.upstream.sendings).toEqual([])
})
