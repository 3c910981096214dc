import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Overrides } from '../../src/snapshot/overrides.ts'

beforeEach(() => void vi.useFakeTimers({ now: 1_000_000 }))
afterEach(() => vi.useRealTimers())

const id = 'market.insights'

test('an override holds for its time, and its end is told once', () => {
  const onExpiry = vi.fn()
  const overrides = new Overrides(onExpiry)

  const set = overrides.set(id, 'refuse', 60_000)
  vi.advanceTimersByTime(59_999)
  const held = overrides.of(id)
  vi.advanceTimersByTime(2)

  expect(set).toEqual({ state: 'refuse', until: 1_060_000 })
  expect([held, overrides.of(id)]).toEqual([set, null])
  expect(onExpiry).toHaveBeenCalledOnce()
})

test('a later word replaces an earlier one, and its time', () => {
  const onExpiry = vi.fn()
  const overrides = new Overrides(onExpiry)
  overrides.set(id, 'refuse', 60_000)

  overrides.set(id, 'serve', 120_000)
  vi.advanceTimersByTime(60_001)

  expect(overrides.of(id)).toMatchObject({ state: 'serve' })
  expect(onExpiry).not.toHaveBeenCalled()
})

test('one that is ended early, or cleared with all, leaves no timer', () => {
  const onExpiry = vi.fn()
  const overrides = new Overrides(onExpiry)
  overrides.set(id, 'refuse', 60_000)
  overrides.set('leads.pipeline', 'refuse', 60_000)

  overrides.end(id)
  overrides.clear()
  vi.advanceTimersByTime(120_000)

  expect([overrides.of(id), overrides.of('leads.pipeline')]).toEqual([null, null])
  expect(onExpiry).not.toHaveBeenCalled()
  expect(vi.getTimerCount()).toBe(0)
})
