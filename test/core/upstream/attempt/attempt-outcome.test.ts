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

  test.each<[string, number, (latency: PeakEwma) => void, number, number]>([
    [
      'a slower response replaces the estimate at once',
      10,
      (it) => {
        it.requestSent(1)
        it.headReceived(200, 201)
      },
      201,
      200,
    ],
    [
      'a faster response pulls the estimate down by as much as time has passed',
      200,
      (it) => {
        it.requestSent(decayMs - 10)
        it.headReceived(10, decayMs)
      },
      decayMs,
      1 + 199 / Math.E,
    ],
    [
      'a fast response never makes it slower, however long ago the last one was',
      100,
      (it) => it.headReceived(20, decayMs),
      decayMs,
      1 + 99 / Math.E,
    ],
    ['without traffic it is forgotten', 1001, () => {}, decayMs, 1 + 1000 / Math.E],
    ['without traffic it is forgotten down to the floor', 1001, () => {}, 100 * decayMs, 1],
    [
      'a request that was just given is no silence yet',
      5,
      (it) => it.requestSent(60_000),
      60_000,
      1 + 4 * Math.exp(-6),
    ],
    ['while a request waits, it is at least the silence since then', 5, (it) => it.requestSent(60_000), 63_000, 3000],
    [
      'a further request does not make the silence shorter',
      1,
      (it) => {
        it.requestSent(0)
        it.requestSent(2000)
      },
      3000,
      3000,
    ],
    [
      'one that responds to some requests is as silent as since the last of them',
      1,
      (it) => {
        it.requestSent(0)
        it.requestSent(4000)
        it.headReceived(5, 4005)
      },
      4505,
      500,
    ],
    [
      'one that hung is still slow after the waiting requests have given up',
      5,
      (it) => {
        it.requestSent(1000)
        it.requestSent(2000)
        it.requestEnded(6000)
        it.requestEnded(6000)
      },
      6000 + decayMs,
      1 + 4999 / Math.E,
    ],
    [
      'a request that fails at once makes the endpoint neither faster nor slower',
      100,
      (it) => {
        it.requestSent(decayMs)
        it.requestEnded(decayMs + 20)
      },
      decayMs + 20,
      1 + 99 * Math.exp(-1.002),
    ],
    [
      'a failure at once counts as the slowest response that is remembered, however long it goes on',
      200,
      (it) => {
        for (let at = 1000; at <= 60_000; at += 1000) {
          it.requestSent(at)
          it.headReceived(1, at, true)
        }
        it.requestSent(60_500)
        it.requestEnded(60_501, true)
      },
      60_501,
      200,
    ],
    [
      'after failures it is forgotten as ever',
      1001,
      (it) => {
        it.headReceived(1, 30_000, true)
        it.headReceived(1, 30_000 + decayMs)
      },
      30_000 + decayMs,
      1 + 1000 / Math.E,
    ],
    [
      'the head that comes after a long wait counts as that wait',
      5,
      (it) => {
        it.requestSent(0)
        it.headReceived(7000, 7000)
      },
      7000,
      7000,
    ],
  ])('%s', (_, ms, act, at, expected) => {
    const latency = withOneSample(ms)

    act(latency)

    expect(latency.at(at)).toBeCloseTo(expected)
  })

  test('silence lasts from the last head on, while a request waits', () => {
    const latency = withOneSample(5)
    const before = latency.silenceAt(1_000)

    latency.requestSent(2_000)

    expect([before, latency.silenceAt(2_700)]).toEqual([0, 700])
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
