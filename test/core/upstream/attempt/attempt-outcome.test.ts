import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { classifyFailure, PeakEwma, SlidingWindow } from '../../../../src/core/upstream/attempt/attempt-outcome.ts'
import { connectFailedError } from '../../../../src/core/upstream/classify-error.ts'
import { fakeAttempts } from '../../../helpers/exchange.ts'

const exchange = { attempts: fakeAttempts({ count: 1 }), endedInQueue: false, waitsForClient: false }

test.each([
  ['EMFILE', 'nothing'],
  ['ENFILE', 'nothing'],
  ['EADDRNOTAVAIL', 'nothing'],
  ['ECONNREFUSED', 'failure'],
  ['ENETUNREACH', 'failure'],
])(
  'a connection that could not be made counts against its endpoint unless the gateway lacked what it takes: %s',
  (code, outcome) => {
    const error = connectFailedError(Object.assign(new Error(code), { code }))

    expect(classifyFailure(error, exchange)).toBe(outcome)
  },
)

describe('the latency of an endpoint', () => {
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
})

describe('a sliding window', () => {
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
          expect(window.failures(at)).toBeGreaterThanOrEqual(
            within(windowMs * 0.9).filter((each) => each.failed).length,
          )
        }
      }),
    )
  })
})
