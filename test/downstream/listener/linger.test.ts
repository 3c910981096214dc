import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { getLingerMode, type LingerMode, linger } from '../../../src/downstream/listener/linger.ts'
import { GatewayError } from '../../../src/failures/errors.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** Begins to wait for a client; `sends` is what it sends every second. */
const waiting = (sends: number, mostBytes = Number.POSITIVE_INFINITY, patience: LingerMode = 'long') => {
  const startedAt = performance.now()
  const bytes = () => sends * Math.floor((performance.now() - startedAt) / 1000)
  const client = { endedAfterMs: null as number | null, leave: () => {} }
  client.leave = linger(patience, mostBytes, bytes, () => {
    client.endedAfterMs = performance.now() - startedAt
    client.leave()
  })
  return client
}

describe('a client that is still sending after its answer', () => {
  test('is waited for as long as it sends, for 30 s in all', () => {
    const client = waiting(1)

    vi.advanceTimersByTime(60_000)

    expect(client.endedAfterMs).toBe(30_000)
  })

  test('is waited for 5 s when it sends nothing', () => {
    const client = waiting(0)

    vi.advanceTimersByTime(60_000)

    expect(client.endedAfterMs).toBe(5_000)
  })

  test('is waited for until it has sent more than a request may have', () => {
    const client = waiting(1000, 3500)

    vi.advanceTimersByTime(60_000)

    expect(client.endedAfterMs).toBe(4_000)
  })

  test('has 300 ms when it was refused for sending too slowly', () => {
    const patience = getLingerMode(new GatewayError('request-timeout'))
    const client = waiting(1, Number.POSITIVE_INFINITY, patience)

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
    const leave = linger(
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
    leave()
  })

  test('leaves no timer behind when it ends by itself', () => {
    const client = waiting(1)

    client.leave()

    expect(vi.getTimerCount()).toBe(0)
  })
})

test('of the clients that are waited for at once, those beyond the thousandth have 300 ms', () => {
  const crowd = Array.from({ length: 1000 }, () => waiting(1))
  const beyond = waiting(1)
  crowd[0]?.leave()
  const inItsPlace = waiting(1)

  vi.advanceTimersByTime(60_000)

  expect(crowd.slice(1).every(({ endedAfterMs }) => endedAfterMs === 30_000)).toBe(true)
  expect([beyond.endedAfterMs, inItsPlace.endedAfterMs]).toEqual([300, 30_000])
})
