import fc from 'fast-check'
import { expect, test } from 'vitest'
import { PeakEwma } from '../../../../src/core/upstream/attempt/attempt-outcome.ts'

const decayMs = 10_000

/** Creates an estimate with one sample, at time 0. */
const withOneSample = (ms: number): PeakEwma => {
  const latency = new PeakEwma()
  latency.requestSent(0)
  latency.headReceived(ms, 0)
  return latency
}

test('an endpoint without a sample is as fast as can be, and that is not known', () => {
  const latency = new PeakEwma()

  expect(latency.at(5_000)).toBe(1)
  expect(latency.isKnown).toBe(false)
  expect(withOneSample(10).isKnown).toBe(true)
})

test('a slower response replaces the estimate at once', () => {
  const latency = withOneSample(10)

  latency.requestSent(1)
  latency.headReceived(200, 201)

  expect(latency.at(201)).toBe(200)
})

test('a faster response pulls the estimate down by as much as time has passed', () => {
  const latency = withOneSample(200)

  latency.requestSent(decayMs - 10)
  latency.headReceived(10, decayMs)

  expect(latency.at(decayMs)).toBeCloseTo(1 + 199 / Math.E)
})

test('a fast response never makes it slower, however long ago the last one was', () => {
  const latency = withOneSample(100)
  const before = latency.at(decayMs)

  latency.headReceived(20, decayMs)

  expect(before).toBeGreaterThan(20)
  expect(latency.at(decayMs)).toBe(before)
})

test('responses that take the same time keep it there', () => {
  const latency = new PeakEwma()

  for (let at = 0; at <= 60_000; at += 500) latency.headReceived(40, at)

  expect(latency.at(60_000)).toBe(40)
})

test('a burst of fast responses does not wipe out a slow one', () => {
  const latency = withOneSample(1_000)

  for (let at = 1; at <= 100; at++) {
    latency.requestSent(at)
    latency.headReceived(1, at)
  }

  expect(latency.at(100)).toBeGreaterThan(980)
})

test('without traffic it is forgotten, down to the floor', () => {
  const latency = withOneSample(1_001)

  const [soon, late] = [latency.at(decayMs), latency.at(100 * decayMs)]

  expect(soon).toBeCloseTo(1 + 1_000 / Math.E)
  expect(late).toBeCloseTo(1)
})

test('while a request waits, the estimate is at least the silence since it was given', () => {
  const latency = withOneSample(5)

  latency.requestSent(60_000)

  expect(latency.at(60_000)).toBeLessThan(2)
  expect(latency.at(63_000)).toBe(3_000)
})

test('a further request does not make the silence shorter', () => {
  const latency = new PeakEwma()
  latency.requestSent(0)

  latency.requestSent(2_000)

  expect(latency.at(3_000)).toBe(3_000)
})

test('one that responds to some requests is as silent as since the last of them', () => {
  const latency = new PeakEwma()
  latency.requestSent(0)
  latency.requestSent(4_000)

  latency.headReceived(5, 4_005)

  expect(latency.at(4_505)).toBe(500)
})

test('one that hung is still slow after the waiting requests have given up', () => {
  const latency = withOneSample(5)
  latency.requestSent(1_000)
  latency.requestSent(2_000)

  latency.requestEnded(6_000)
  latency.requestEnded(6_000)

  expect(latency.at(6_000)).toBe(5_000)
  expect(latency.at(6_000 + decayMs)).toBeCloseTo(1 + 4_999 / Math.E)
})

test('a request that fails at once makes the endpoint neither faster nor slower', () => {
  const latency = withOneSample(100)

  latency.requestSent(decayMs)
  latency.requestEnded(decayMs + 20)

  expect(latency.at(decayMs + 20)).toBeCloseTo(withOneSample(100).at(decayMs + 20))
})

test('a failure at once counts as the slowest response that is remembered, however long it goes on', () => {
  const latency = withOneSample(200)

  for (let at = 1_000; at <= 60_000; at += 1_000) {
    latency.requestSent(at)
    latency.headReceived(1, at, true)
  }
  latency.requestSent(60_500)
  latency.requestEnded(60_501, true)

  expect(latency.at(60_501)).toBe(200)
})

test('after failures it is forgotten as ever', () => {
  const latency = withOneSample(1_001)
  latency.headReceived(1, 30_000, true)

  latency.headReceived(1, 30_000 + decayMs)

  expect(latency.at(30_000 + decayMs)).toBeCloseTo(1 + 1_000 / Math.E)
})

test('silence lasts from the last head on, while a request waits', () => {
  const latency = withOneSample(5)
  const before = latency.silenceAt(1_000)

  latency.requestSent(2_000)

  expect([before, latency.silenceAt(2_700)]).toEqual([0, 700])
})

test('the head that comes after a long wait counts as that wait', () => {
  const latency = withOneSample(5)
  latency.requestSent(0)

  latency.headReceived(7_000, 7_000)

  expect(latency.at(7_000)).toBe(7_000)
})

test('a wait that is over is not counted into the next', () => {
  const latency = new PeakEwma()
  latency.requestSent(0)
  latency.headReceived(1, 1)

  latency.requestSent(50_000)

  expect(latency.at(50_010)).toBe(10)
})

test.each([Number.NaN, Number.POSITIVE_INFINITY, -5])('a time of %d does not spoil the estimate', (ms) => {
  const latency = withOneSample(20)

  latency.headReceived(ms, 1)

  expect(latency.at(1)).toBeCloseTo(20, 0)
})

test('whatever happens, the estimate is a number, at least the floor and at most the longest time there was', () => {
  const event = fc.record({
    kind: fc.constantFrom('sent', 'head', 'ended'),
    failed: fc.boolean(),
    afterMs: fc.oneof(fc.nat(100), fc.double({ min: 0, max: 1e7, noNaN: true })),
    ms: fc.oneof(fc.nat(1_000), fc.double({ min: -1, max: 1e7, noNaN: true })),
  })

  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const latency = new PeakEwma()
      let at = 0
      let longest = 1

      for (const { kind, afterMs, ms, failed } of events) {
        at += afterMs
        longest = Math.max(longest, ms, at)
        if (kind === 'sent') latency.requestSent(at)
        if (kind === 'head') latency.headReceived(ms, at, failed)
        if (kind === 'ended') latency.requestEnded(at, failed)

        expect(latency.at(at)).toBeGreaterThanOrEqual(1)
        expect(latency.at(at)).toBeLessThanOrEqual(longest)
      }
    }),
  )
})
