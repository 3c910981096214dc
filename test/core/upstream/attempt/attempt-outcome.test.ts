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
])('a connection that was not made for %s says %s of its endpoint: the gateway may lack it', (code, says) => {
  const error = connectFailedError(Object.assign(new Error(code), { code }))

  expect(classifyFailure(error, exchange)).toBe(says)
})

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

  /** Plays events: `head 1000 20 failed` is a response at 1000 that took 20 ms and failed. */
  const play = (latency: PeakEwma, events: string): void => {
    for (const [what, at, ms, failed] of events.split(', ').map((event) => event.split(' '))) {
      if (what === 'sent') latency.requestSent(Number(at))
      if (what === 'head') latency.headReceived(Number(ms), Number(at), failed === 'failed')
      if (what === 'ended') latency.requestEnded(Number(at), ms === 'failed')
    }
  }

  const failures = Array.from({ length: 60 }, (_, n) => `sent ${1000 * n}, head ${1000 * n} 1 failed`)
  const failing = [...failures, 'sent 60500', 'ended 60501 failed'].join(', ')
  const givenUp = 'sent 1000, sent 2000, ended 6000, ended 6000'
  const [forgotten, unspoilt] = [1 + 1000 / Math.E, 1 + 19 * Math.exp(-1 / decayMs)]
  const aged = 1 + 99 * Math.exp(-1.002)

  // What it was, what happens, and what it is at a moment.
  test.each([
    ['a slower response replaces it at once', 10, 'sent 1, head 201 200', 201, 200],
    ['a faster response pulls it down as time passes', 200, 'sent 9990, head 10000 10', decayMs, 1 + 199 / Math.E],
    ['a fast response never makes it slower', 100, 'head 10000 20', decayMs, 1 + 99 / Math.E],
    ['without traffic it is forgotten', 1001, '', decayMs, forgotten],
    ['without traffic it is forgotten down to the floor', 1001, '', 100 * decayMs, 1],
    ['a request that was just given is no silence yet', 5, 'sent 60000', 60_000, 1 + 4 * Math.exp(-6)],
    ['while a request waits, it is at least the silence since then', 5, 'sent 60000', 63_000, 3000],
    ['a further request does not make the silence shorter', 1, 'sent 0, sent 2000', 3000, 3000],
    ['one that responds to some is silent since the last of them', 1, 'sent 0, sent 4000, head 4005 5', 4505, 500],
    ['one that hung is still slow after the waiting requests have given up', 5, givenUp, 16_000, 1 + 4999 / Math.E],
    ['a request that fails at once makes it neither faster nor slower', 100, 'sent 10000, ended 10020', 10_020, aged],
    ['a failure at once counts as the slowest response that is remembered, for ever', 200, failing, 60_501, 200],
    ['after failures it is forgotten as ever', 1001, 'head 30000 1 failed, head 40000 1', 40_000, forgotten],
    ['the head after a long wait counts as that wait', 5, 'sent 0, head 7000 7000', 7000, 7000],
    ['a time that is none does not spoil it', 20, 'head 1 NaN', 1, unspoilt],
    ['an endless time does not spoil it', 20, 'head 1 Infinity', 1, unspoilt],
    ['a time below 0 does not spoil it', 20, 'head 1 -5', 1, unspoilt],
  ] as [string, number, string, number, number][])('%s', (_, ms, events, at, expected) => {
    const latency = withOneSample(ms)

    play(latency, events)

    expect(latency.at(at)).toBeCloseTo(expected)
  })

  test('silence lasts from the last head on, while a request waits', () => {
    const latency = withOneSample(5)
    const before = latency.silenceAt(1_000)

    latency.requestSent(2_000)

    expect([before, latency.silenceAt(2_700)]).toEqual([0, 700])
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

    expect([window.requests(1e9), window.failures(1e9)]).toEqual([0, 0])
  })
})
