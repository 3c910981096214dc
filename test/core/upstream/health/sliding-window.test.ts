import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SlidingWindow } from '../../../../src/core/upstream/attempt/attempt-outcome.ts'

test('it counts requests, and those that failed among them', () => {
  const window = new SlidingWindow(1_000)

  window.record(true, 0)
  window.record(false, 50)
  window.record(true, 500)

  expect([window.requests(500), window.failures(500)]).toEqual([3, 2])
})

test('what is older than the window is forgotten, bucket by bucket', () => {
  const window = new SlidingWindow(1_000)
  window.record(true, 0)
  window.record(false, 150)

  const requests = [999, 1_000, 1_099, 1_100].map((at) => window.requests(at))

  expect(requests).toEqual([2, 1, 1, 0])
})

test('a long silence empties it', () => {
  const window = new SlidingWindow(1_000)
  window.record(true, 0)

  expect(window.requests(1e9)).toBe(0)
  expect(window.failures(1e9)).toBe(0)
})

test('cleared, it begins anew', () => {
  const window = new SlidingWindow(1_000)
  window.record(true, 1e6)
  window.clear()

  window.record(false, 1e6 + 1)

  expect([window.requests(1e6 + 1), window.failures(1e6 + 1)]).toEqual([1, 0])
})

test('it never holds anything older than the window, nor misses anything younger than nine tenths of it', () => {
  const event = fc.record({ afterMs: fc.oneof(fc.nat(50), fc.nat(3_000)), failed: fc.boolean() })
  fc.assert(
    fc.property(fc.array(event), fc.constantFrom(1, 70, 1_000), (events, windowMs) => {
      const window = new SlidingWindow(windowMs)
      const recorded: { at: number; failed: boolean }[] = []
      let at = 0

      for (const { afterMs, failed } of events) {
        at += afterMs
        window.record(failed, at)
        recorded.push({ at, failed })

        const within = (ms: number) => recorded.filter((each) => at - each.at < ms)
        expect(window.requests(at)).toBeLessThanOrEqual(within(windowMs).length)
        expect(window.requests(at)).toBeGreaterThanOrEqual(within(windowMs * 0.9).length)
        expect(window.failures(at)).toBeLessThanOrEqual(within(windowMs).filter((each) => each.failed).length)
        expect(window.failures(at)).toBeGreaterThanOrEqual(within(windowMs * 0.9).filter((each) => each.failed).length)
      }
    }),
  )
})
