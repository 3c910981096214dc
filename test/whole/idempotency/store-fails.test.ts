/** What becomes of requests when what remembers cannot be told. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { advance, turn } from './once-commands.ts'
import { type ModelGateway, type Sent, type StoreFault, World } from './two-gateways.ts'

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }))
afterEach(() => vi.useRealTimers())

const wanted = { client: '192.0.2.1', operation: 'valuation.score', key: 'a', body: 'x', size: 'small' } as const

/** Sends the request, lets the upstream process it if it gets it, and returns what the client got. */
const send = async (world: World, gateway: ModelGateway, ...faultsAfterClaim: readonly StoreFault[]) => {
  const sent = world.send(gateway, wanted)
  await turn()
  gateway.faults.push(...faultsAfterClaim)
  for (const each of world.upstream.pending) each.end('ok')
  await turn()
  return told(sent)
}

const told = ({ got }: Sent): string => {
  if (got === null) return 'nothing'
  if ('failure' in got) return got.failure
  return `${got.status}${got.fields.includes('Idempotency-Replayed') ? ' replayed' : ''}`
}

const openTwoGateways = () => {
  const world = new World()
  const [one, other] = world.gateways as [ModelGateway, ModelGateway]
  return { world, one, other }
}

test.each<StoreFault>(['unsent', 'lost'])(
  'a claim whose reply does not come (%s) is rejected and given back',
  async (fault) => {
    const { world, one, other } = openTwoGateways()

    one.faults.push(fault)
    const got = [await send(world, one), await send(world, other), await send(world, one)]

    expect(got).toEqual(['idempotency-unavailable', '200', '200 replayed'])
    expect(world.upstream.sendings).toHaveLength(1)
  },
)

test('a response that could not be stored reaches its client, and is stored a second later', async () => {
  const { world, one, other } = openTwoGateways()

  const got = [await send(world, one, 'unsent')]
  got.push(await send(world, other))
  await advance(1000)
  got.push(await send(world, other))

  expect(got).toEqual(['200', 'request-in-progress', '200 replayed'])
  expect(world.upstream.sendings).toHaveLength(1)
})

test('a response that could not be stored for as long as the lease leaves an unknown outcome', async () => {
  const { world, one, other } = openTwoGateways()

  const got = [await send(world, one, ...Array<StoreFault>(20).fill('unsent'))]
  await advance(16_000)
  one.faults.length = 0
  await advance(2000)
  got.push(await send(world, other))

  expect(got).toEqual(['200', 'outcome-unknown'])
  expect(world.upstream.sendings).toHaveLength(1)
})

test('a gateway that stands still for longer than the lease leaves an unknown outcome, and does not change it', async () => {
  const { world, one, other } = openTwoGateways()

  const first = world.send(one, wanted)
  await turn()
  one.stop()
  await advance(15_000)
  const got = [await send(world, other)]
  one.resume()
  await turn()
  got.push(await send(world, other))

  expect(got).toEqual(['outcome-unknown', 'outcome-unknown'])
  expect(told(first)).not.toBe('nothing')
  expect(world.upstream.sendings).toHaveLength(1)
})

test('a gateway that hears of its claim after the lease has run out does not forward the request', async () => {
  const { world, one } = openTwoGateways()

  one.faults.push('slow')
  const sent = world.send(one, wanted)
  await turn()
  one.stop()
  vi.advanceTimersByTime(15_000)
  one.resume()
  await vi.waitFor(() => expect(sent.got).not.toBeNull())

  expect([told(sent), world.upstream.sendings]).toEqual(['idempotency-unavailable', []])
})
