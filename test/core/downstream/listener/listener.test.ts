import { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { getLingerMode, type LingerMode, linger } from '../../../../src/core/downstream/listener/linger.ts'
import {
  hasReceivedNothing,
  inheritConnectionClaims,
  setConnectionClaims,
} from '../../../../src/core/downstream/listener/listener-config.ts'
import { PerAddressConnectionLimit } from '../../../../src/core/downstream/listener/open-connections.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { testConfig } from '../../../helpers/gateway.ts'

describe('lingering', () => {
  // Connections of another test file may still take places of this process.
  let slots = { taken: 0 }
  beforeEach(() => {
    vi.useFakeTimers()
    slots = { taken: 0 }
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
  })

  /** Starts to wait for a client; `sends`: bytes a second. */
  const startLinger = (sends: number, maxBytes = Number.POSITIVE_INFINITY, mode: LingerMode = 'long') => {
    const startedAt = performance.now()
    const bytes = () => sends * Math.floor((performance.now() - startedAt) / 1000)
    const client = { endedAfterMs: null as number | null, stop: () => {} }
    const end = (): void => {
      client.endedAfterMs = performance.now() - startedAt
      client.stop()
    }
    client.stop = linger(mode, maxBytes, bytes, end, slots)
    return client
  }

  const tooSlow = getLingerMode(new GatewayError('request-timeout'))

  test.each<[string, number, number, LingerMode, number]>([
    ['as long as it sends, for 30 s in all', 1, Number.POSITIVE_INFINITY, 'long', 30_000],
    ['5 s when it sends nothing', 0, Number.POSITIVE_INFINITY, 'long', 5_000],
    ['until it has sent more than a request may have', 1000, 3500, 'long', 4_000],
    ['300 ms when its request was rejected for coming too slowly', 1, Number.POSITIVE_INFINITY, tooSlow, 300],
    ['as ever when it was rejected otherwise', 0, 100, getLingerMode(new GatewayError('not-found')), 5_000],
  ])(
    'a client that is still sending after its response is waited for: %s',
    (_, sends, maxBytes, mode, endedAfterMs) => {
      const client = startLinger(sends, maxBytes, mode)

      vi.advanceTimersByTime(60_000)

      expect(client.endedAfterMs).toBe(endedAfterMs)
    },
  )

  test('a client does not seem quiet while the gateway itself stands still', () => {
    const { now } = performance
    let stoodStillMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + stoodStillMs)
    let bytes = 0
    const end = vi.fn()
    const stop = linger('long', 100, () => bytes, end)

    vi.advanceTimersByTime(1_000)
    stoodStillMs = 10_000
    vi.advanceTimersByTime(1_000) // timers come before what has arrived meanwhile
    bytes = 10
    vi.advanceTimersByTime(4_000)

    expect(end).not.toHaveBeenCalled()
    stop()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('of the clients that are waited for at once, those beyond the thousandth get 300 ms', () => {
    const clients = Array.from({ length: 1000 }, () => startLinger(1))
    const excess = startLinger(1)
    clients[0]?.stop()
    const successor = startLinger(1)

    vi.advanceTimersByTime(60_000)

    expect(clients.slice(1).every(({ endedAfterMs }) => endedAfterMs === 30_000)).toBe(true)
    expect([excess.endedAfterMs, successor.endedAfterMs]).toEqual([300, 30_000])
  })
})

test('the claims about a connection belong to the raw socket below TLS alone', () => {
  const [raw, secured] = [new Socket(), new Socket()]
  const said = { length: 28, address: '192.0.2.1', isAnonymous: false, authority: null }
  setConnectionClaims(raw, { ...said, isSecure: () => false })

  inheritConnectionClaims(secured, raw)

  expect([hasReceivedNothing(raw), hasReceivedNothing(secured)]).toEqual([false, true])
})

const createLimit = (max: number | 'none', trustedProxies: readonly string[] = []): PerAddressConnectionLimit => {
  const limit = new PerAddressConnectionLimit()
  limit.applyConfig(testConfig({ listen: { maxConnectionsPerAddress: max, trustedProxies } }).listen)
  return limit
}

test('one address gets connections up to the limit, and another one when one has closed', () => {
  const limit = createLimit(2)

  const keys = ['10.0.0.1', '::ffff:10.0.0.1', '10.0.0.1', '10.0.0.2'].map((address) => limit.acquire(address))
  limit.release('10.0.0.1')

  expect(keys).toEqual(['10.0.0.1', '10.0.0.1', false, '10.0.0.2'])
  expect([limit.acquire('10.0.0.1'), limit.acquire('10.0.0.1')]).toEqual(['10.0.0.1', false])
})

test('an IPv6 network of 64 bits counts as one address', () => {
  const limit = createLimit(1)

  const keys = ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:2::1'].map((address) => limit.acquire(address))

  expect(keys.map((key) => key !== false)).toEqual([true, false, true])
})

test('trusted proxies are not counted, and without a limit no address is', () => {
  const [proxied, free] = [createLimit(1, ['10.0.0.0/8']), createLimit('none')]

  expect([1, 2, 3].map(() => proxied.acquire('10.9.9.9'))).toEqual([null, null, null])
  expect([1, 2, 3].map(() => free.acquire('10.9.9.9'))).toEqual([null, null, null])
})
