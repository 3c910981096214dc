import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { findDrain, Overrides, TtlOverrides, toEndpointKey } from '../../../src/core/runtime/overrides.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => vi.useRealTimers())

const id = 'market.insights'

test('an override holds for its time, and its end is reported once', () => {
  const onExpiry = vi.fn()
  const overrides = new TtlOverrides(onExpiry)

  const set = overrides.set(id, 'reject', 60_000, 'anna')
  vi.advanceTimersByTime(59_999)
  const held = overrides.get(id)
  vi.advanceTimersByTime(2)

  expect(set).toEqual({
    ...{ state: 'reject', by: 'anna', reason: null, since: 1_000_000, until: 1_060_000, endsAt: expect.any(Number) },
  })
  expect([held, overrides.get(id)]).toEqual([set, null])
  expect(onExpiry).toHaveBeenCalledOnce()
})

// The wall clock is set by an operator or NTP; an override ends when its time on the monotonic clock is over.
test.each([-2, 2])(
  'one whose wall clock is set by %d h says when it ends by that clock, and ends no later',
  (hours) => {
    const overrides = new TtlOverrides(() => {})
    const set = overrides.set(id, 'reject', 60_000, 'anna')

    vi.setSystemTime(1_000_000 + hours * 3_600_000)
    const shown = overrides.get(id)
    overrides.restore(id, set)
    const restored = overrides.get(id)
    vi.advanceTimersByTime(60_001)

    expect([shown?.until, restored?.until]).toEqual(new Array(2).fill(1_060_000 + hours * 3_600_000))
    expect(overrides.get(id)).toBeNull()
  },
)

test('a later override replaces an earlier one, and its time', () => {
  const onExpiry = vi.fn()
  const overrides = new TtlOverrides(onExpiry)
  overrides.set(id, 'reject', 60_000, 'anna')

  overrides.set(id, 'serve', 120_000, 'anna')
  vi.advanceTimersByTime(60_001)

  expect(overrides.get(id)).toMatchObject({ state: 'serve' })
  expect(onExpiry).not.toHaveBeenCalled()
})

test('one that is restored, because the next was rejected, holds for the time that it had left', () => {
  const overrides = new TtlOverrides(() => {})
  const before = overrides.set(id, 'reject', 60_000, 'anna')
  vi.advanceTimersByTime(20_000)
  overrides.set(id, 'serve', 120_000, 'anna')

  overrides.restore(id, before)
  const again = overrides.get(id)
  vi.advanceTimersByTime(40_001)

  expect([again, overrides.get(id)]).toEqual([before, null])
})

test('one that is removed, or cleared with all, leaves no timer', () => {
  const onExpiry = vi.fn()
  const overrides = new TtlOverrides(onExpiry)
  overrides.set(id, 'reject', 60_000, 'anna')
  overrides.set('leads.pipeline', 'reject', 60_000, 'anna')

  overrides.remove(id)
  overrides.clear()
  vi.advanceTimersByTime(120_000)

  expect([overrides.get(id), overrides.get('leads.pipeline')]).toEqual([null, null])
  expect(onExpiry).not.toHaveBeenCalled()
  expect(vi.getTimerCount()).toBe(0)
})

test('each kind is notified of its own expiry alone', () => {
  const [onOperation, onEndpoint] = [vi.fn(), vi.fn()]
  const overrides = new Overrides(onOperation, onEndpoint)

  overrides.operations.set(id, 'reject', 60_000, 'anna')
  overrides.endpoints.set(toEndpointKey('risk', 'http://a:8080/v2'), 'drain', 30_000, 'anna')
  vi.advanceTimersByTime(90_000)

  expect(onOperation.mock.calls).toEqual([[id]])
  expect(onEndpoint.mock.calls).toEqual([[{ group: 'risk', endpoint: 'http://a:8080/v2' }]])
})

describe('an override of an endpoint', () => {
  const key = toEndpointKey('risk', 'http://a:8080')

  test('goes before the file, whichever of the two drains it', () => {
    const { endpoints } = new Overrides()
    const drains = () => [true, false].map((byFile) => findDrain(endpoints, key, byFile))

    const before = drains()
    endpoints.set(key, 'ready', 60_000, 'anna')
    const ready = drains()
    endpoints.set(key, 'drain', 60_000, 'anna')

    expect({ before, ready, drained: drains() }).toEqual({
      ...{ before: ['file', null], ready: [null, null], drained: ['operator', 'operator'] },
    })
  })

  test('is for the endpoint of one group, not for its namesake in another', () => {
    const { endpoints } = new Overrides()

    endpoints.set(key, 'drain', 60_000, 'anna')

    expect(endpoints.get(toEndpointKey('market', 'http://a:8080'))).toBeNull()
  })

  test('is one of at most a thousand: a further one finds no room, one in the place of another does', () => {
    const overrides = new Overrides()
    const { endpoints } = overrides
    for (let port = 1; port <= 1000; port++)
      endpoints.set(toEndpointKey('risk', `http://a:${port}`), 'drain', 60_000, 'anna')

    const [other, again] = [toEndpointKey('risk', 'http://a:1001'), toEndpointKey('risk', 'http://a:7')]

    expect([endpoints.hasRoomFor(other), endpoints.hasRoomFor(again)]).toEqual([false, true])
    expect(() => endpoints.set(other, 'drain', 60_000, 'anna')).toThrow('1000')
    expect(endpoints.set(again, 'ready', 60_000, 'anna')).toMatchObject({ state: 'ready' })
    overrides.clear()
    expect(vi.getTimerCount()).toBe(0)
  })
})
