import type { LookupAddress } from 'node:dns'
import { type AddressInfo, createServer, type LookupFunction, type Socket } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { LogEvent } from '../../../../src/core/log/log.ts'
import type { Upstream } from '../../../../src/core/upstream/upstream.ts'
import { fakeExchange } from '../../../helpers/exchange.ts'
import { openTestUpstream, sendOutcome } from '../../../helpers/open-upstream.ts'
import { onRequest } from '../../../helpers/upstream.ts'
import { eventually } from '../../../helpers/wire.ts'

const names = vi.hoisted(() => ({ lookups: 0, addresses: [] as readonly string[] }))

vi.mock('../../../../src/core/upstream/endpoints/dns.ts', async (original) => {
  const actual = await original<typeof import('../../../../src/core/upstream/endpoints/dns.ts')>()
  const resolve = async (): Promise<readonly LookupAddress[]> => {
    names.lookups++
    if (names.addresses.length === 0) throw Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' })
    return names.addresses.map((address) => ({ address, family: 4 }))
  }
  return {
    ...actual,
    lookupHostname: ((_name, _options, callback) =>
      callback(Object.assign(new Error('getaddrinfo'), { code: 'EAI_AGAIN' }), '')) satisfies LookupFunction,
    startDnsRefresh: (...[hostname, intervalMs, callbacks]: Parameters<typeof actual.startDnsRefresh>) =>
      actual.startDnsRefresh(hostname, intervalMs, callbacks, resolve),
  }
})

/** Opens a server on each address, all on one port, and counts the requests of each. */
const servers = async (...addresses: readonly string[]) => {
  const counts = new Map<string, number>()
  const held: Socket[] = []
  let holding = false
  let port = 0
  let accepted = 0
  const open = async (address: string) => {
    counts.set(address, 0)
    const server = createServer((socket) => {
      accepted++
      socket.on('error', () => {})
      onRequest(socket, () => {
        counts.set(address, (counts.get(address) ?? 0) + 1)
        if (holding) held.push(socket)
        else socket.write('HTTP/1.1 204 No Content\r\n\r\n')
      })
      onTestFinished(() => void socket.destroy())
    })
    await new Promise<void>((resolve) => server.listen(port, address, resolve))
    port = (server.address() as AddressInfo).port
    onTestFinished(() => void server.close())
  }
  for (const address of addresses) await open(address)
  /** Makes requests wait, or responds to all that wait. */
  const hold = (isOn: boolean) => {
    holding = isOn
    if (!isOn) for (const socket of held) socket.write('HTTP/1.1 204 No Content\r\n\r\n')
  }
  return { port, open, held, hold, counts: () => [...counts.values()], accepted: () => accepted }
}

const one = '127.0.0.1'
const two = '127.0.0.2'

/** Opens an upstream behind a name and waits until it is known. */
const openNamed = async (port: number, resolve: number, logEvent?: LogEvent, maxConnections = 256) => {
  const upstream = openTestUpstream(`http://name.test:${port}`, { resolve, maxConnections }, logEvent)
  await new Promise(setImmediate) // every promise that has settled has been handled by then
  return upstream
}

/** Sends so many requests, one after the other. */
const sendAll = async (upstream: Upstream, count: number): Promise<void> => {
  for (let n = 0; n < count; n++) expect(await sendOutcome(upstream, fakeExchange())).toBe(204)
}

test('requests are spread over all addresses of a name', async () => {
  const { port, counts } = await servers(one, two)
  names.addresses = [one, two]
  const upstream = await openNamed(port, 60_000)

  await sendAll(upstream, 10)

  expect(counts()).toEqual([5, 5])
})

test('an address that refuses is passed over, and has its share a second after it is back', async () => {
  const { port, open, counts, accepted } = await servers(one)
  names.addresses = [two, one]
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const upstream = await openNamed(port, 60_000)

  await sendAll(upstream, 10)
  const before = [...counts(), accepted()]
  await open(two)
  await sendAll(upstream, 10)
  const within = counts()
  vi.advanceTimersByTime(1000)
  await sendAll(upstream, 10)

  expect([...before, ...within, ...counts()]).toEqual([10, 2, 20, 0, 25, 5])
})

test('an address that is dropped finishes what runs, and gets nothing new', async () => {
  const { port, counts, held, hold } = await servers(one, two)
  names.addresses = [one, two]
  const upstream = await openNamed(port, 10)
  hold(true)
  const running = [sendOutcome(upstream, fakeExchange()), sendOutcome(upstream, fakeExchange())]
  await eventually(() => held.length === 2)

  names.addresses = [two]
  const { lookups } = names
  await eventually(() => names.lookups > lookups + 1)
  hold(false)
  await sendAll(upstream, 6)

  expect(await Promise.all(running)).toEqual([204, 204])
  expect(counts()).toEqual([1, 7])
})

test('a name that does not resolve is down, with the reason, until it does', async () => {
  const { port } = await servers(one)
  const events: unknown[] = []
  names.addresses = []
  const upstream = openTestUpstream(`http://name.test:${port}`, { resolve: 10 }, (_, event) => events.push(event))
  const state = () => upstream.members[0]?.state
  await eventually(() => state()?.name === 'down')

  expect(state()?.reason).toBe('the name of the endpoint does not resolve (ENOTFOUND)')
  expect(await sendOutcome(upstream, fakeExchange())).toBe('connect-failed')

  names.addresses = [one]
  await eventually(() => state()?.name === 'up')

  expect(await sendOutcome(upstream, fakeExchange())).toBe(204)
  expect(events).toEqual(['endpoint not resolved', 'endpoint resolved'])
})

test('probes go to the known addresses in turns, and ask no name server', async () => {
  const { port, counts } = await servers(one, two)
  names.addresses = [one, two]
  const expected = { expect: { from: 200, to: 299 }, healthyAfter: 1, unhealthyAfter: 1 }
  const healthCheck = { path: '/health', interval: 10, timeout: 20_000, ...expected }
  const upstream = openTestUpstream(`http://name.test:${port}`, { healthCheck })
  await new Promise(setImmediate)

  upstream.activate()
  await eventually(() => counts().every((count) => count >= 2))

  const [first = 0, second = 0] = counts()
  expect(Math.abs(first - second)).toBeLessThanOrEqual(1)
  expect(upstream.members[0]?.state.name).toBe('up')
})

test('a request that is sent again after its connection was closed goes to the known addresses', async () => {
  const { port, held, hold, counts } = await servers(one)
  names.addresses = [one]
  const upstream = await openNamed(port, 60_000, undefined, 1)
  await sendOutcome(upstream, fakeExchange())
  hold(true)
  const running = sendOutcome(upstream, fakeExchange())
  await eventually(() => held.length === 1)

  held[0]?.resetAndDestroy()
  hold(false)

  expect(await running).toBe(204)
  expect(counts()).toEqual([3])
})
