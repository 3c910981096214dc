import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { getLingerMode, type LingerMode, linger } from '../../../../src/core/downstream/listener/linger.ts'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Starts to wait for a client; `sends` is the number of bytes that it sends every second. */
const startLinger = (sends: number, maxBytes = Number.POSITIVE_INFINITY, mode: LingerMode = 'long') => {
  const startedAt = performance.now()
  const bytes = () => sends * Math.floor((performance.now() - startedAt) / 1000)
  const client = { endedAfterMs: null as number | null, stop: () => {} }
  client.stop = linger(mode, maxBytes, bytes, () => {
    client.endedAfterMs = performance.now() - startedAt
    client.stop()
  })
  return client
}

describe('a client that is still sending after its response', () => {
  test('is waited for as long as it sends, for 30 s in all', () => {
    const client = startLinger(1)

    vi.advanceTimersByTime(60_000)

    expect(client.endedAfterMs).toBe(30_000)
  })

  test('is waited for 5 s when it sends nothing', () => {
    const client = startLinger(0)

    vi.advanceTimersByTime(60_000)

    expect(client.endedAfterMs).toBe(5_000)
  })

  test('is waited for until it has sent more than a request may have', () => {
    const client = startLinger(1000, 3500)

    vi.advanceTimersByTime(60_000)

    expect(client.endedAfterMs).toBe(4_000)
  })

  test('has 300 ms when its request was rejected for coming too slowly', () => {
    const mode = getLingerMode(new GatewayError('request-timeout'))
    const client = startLinger(1, Number.POSITIVE_INFINITY, mode)

    vi.advanceTimersByTime(60_000)

    expect(client.endedAfterMs).toBe(300)
    expect(getLingerMode(new GatewayError('not-found'))).toBe('long')
  })

  test('is not taken to be quiet while it is the gateway that stands still', () => {
    const { now } = performance
    let stoodStillMs = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + stoodStillMs)
    let bytes = 0
    let ended = false
    const stop = linger(
      'long',
      100,
      () => bytes,
      () => {
        ended = true
      },
    )

    vi.advanceTimersByTime(1_000)
    stoodStillMs = 10_000
    vi.advanceTimersByTime(1_000) // timers come before what has arrived meanwhile
    bytes = 10
    vi.advanceTimersByTime(4_000)

    expect(ended).toBe(false)
    stop()
  })

  test('leaves no timer behind when it ends by itself', () => {
    const client = startLinger(1)

    client.stop()

    expect(vi.getTimerCount()).toBe(0)
  })
})

test('of the clients that are waited for at once, those beyond the thousandth have 300 ms', () => {
  const clients = Array.from({ length: 1000 }, () => startLinger(1))
  const excess = startLinger(1)
  clients[0]?.stop()
  const successor = startLinger(1)

  vi.advanceTimersByTime(60_000)

  expect(clients.slice(1).every(({ endedAfterMs }) => endedAfterMs === 30_000)).toBe(true)
  expect([excess.endedAfterMs, successor.endedAfterMs]).toEqual([300, 30_000])
})
