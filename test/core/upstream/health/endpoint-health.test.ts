import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { now, systemMs } from '../../../../src/core/lib/clock.ts'
import { EndpointHealth } from '../../../../src/core/upstream/health/endpoint-health.ts'

describe('traffic', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  /** Ends requests of an endpoint, each with a status or a failure. */
  const end = (health: EndpointHealth, ...ends: readonly (number | GatewayError)[]): void => {
    for (const errorOrStatus of ends) {
      const outcome = typeof errorOrStatus === 'number' && errorOrStatus < 500 ? 'success' : 'failure'
      health.recordOutcome(outcome, errorOrStatus)
      health.recordForComparison(outcome, errorOrStatus, now())
    }
  }

  const connectFailed = new GatewayError('connect-failed')

  describe('the attempts that a success takes', () => {
    test.each<[string, readonly (number | GatewayError)[], number]>([
      ['are one before the first request', [], 1],
      ['are one when all go well', [200, 200, 304], 1],
      ['are one when all responses are a 4xx', [404, 401, 404], 1],
      ['are n + 1 when n failed, by a status or a failure', [503, connectFailed, 500], 4],
      ['are two when one of two attempts goes well, but for one more', [503, 200, 503, 200, 503, 200], 7 / 4],
    ])('%s', (_, ends, attempts) => {
      const health = new EndpointHealth()

      end(health, ...ends)

      expect(health.attemptsPerSuccessAt(now())).toBe(attempts)
    })

    test.each([
      ['those of the last 10 s', 10_001, [200], 1],
      ['two for as long as nothing comes after a failure', 3_600_000, [], 2],
    ])('are %s', (_, ms, ends, attempts) => {
      const health = new EndpointHealth()
      end(health, 503, 503, 503)

      vi.advanceTimersByTime(ms)
      end(health, ...ends)

      expect(health.attemptsPerSuccessAt(now())).toBe(attempts)
    })

    test('are two when nothing came back for 10 s though a request waits', () => {
      const health = new EndpointHealth()
      vi.advanceTimersByTime(60_000)
      health.latency.requestSent(now())
      const before = health.attemptsPerSuccessAt(now() + 9_999)

      vi.advanceTimersByTime(10_000)

      expect([before, health.attemptsPerSuccessAt(now())]).toEqual([1, 2])
    })

    test('are one for an endpoint that comes back from an ejection, whatever was sent to it meanwhile', () => {
      const health = new EndpointHealth()
      health.ejection = { since: 0, reason: 'x', startedAt: now(), until: now() + 5_000 }

      health.recordForComparison('failure', 503, now())

      expect(health.attemptsPerSuccessAt(now())).toBe(1)
    })
  })

  test('responses of the last five minutes are counted, with those of 400 to 499 among them', () => {
    const health = new EndpointHealth()
    end(health, 399, 400, 404, 499, 500, 200, connectFailed)
    health.recordForComparison('nothing', new GatewayError('client-gone'), now())

    const [requests, clientErrors] = [health.responses.requests(now()), health.responses.failures(now())]
    vi.advanceTimersByTime(300_001)

    expect([requests, clientErrors]).toEqual([7, 3])
    expect(health.responses.requests(now())).toBe(0)
  })

  test('counts that other connections go on from keep the time since when they count', () => {
    const before = new EndpointHealth()
    end(before, 200, 503)
    vi.advanceTimersByTime(60_000)
    const health = new EndpointHealth()

    health.continueFrom(before)

    expect([health.counts.requests, health.countedSince]).toEqual([2, before.countedSince])
    expect(health.countedSince).toBe(now() - 60_000)
  })
})

describe('outages', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1000 })
    onTestFinished(() => void vi.useRealTimers())
  })

  const connectFailed = new GatewayError('connect-failed', { reason: 'refused' })

  /**
   * Creates the health of an endpoint of which so many requests have failed, a millisecond apart, after a success at
   * 1000.
   */
  const failed = (times: number): EndpointHealth => {
    const health = new EndpointHealth()
    health.recordOutcome('success', 200)
    for (let n = 0; n < times; n++) {
      vi.advanceTimersByTime(1)
      health.recordOutcome('failure', connectFailed)
    }
    return health
  }

  test('an endpoint is failing after five failures without a success, since the first of them', () => {
    expect(failed(4).isFailing).toBe(false)
    vi.setSystemTime(1000)
    expect(failed(5)).toMatchObject({ isFailing: true, succeededAt: 1000, failingSince: 1001 })
  })

  test.each<[string, (health: EndpointHealth) => void, Partial<EndpointHealth>]>([
    [
      'an outcome that says nothing about the endpoint changes nothing',
      (health) => health.recordOutcome('nothing', new GatewayError('client-gone')),
      { isFailing: true, failuresInARow: 9, failingSince: 1001 },
    ],
    [
      'a success ends it',
      (health) => health.recordOutcome('success', 200),
      { isFailing: false, failingSince: null, failuresInARow: 0, succeededAt: 1009 },
    ],
    [
      'probes that find it up again end it, and what fails after that is the same outage',
      (health) => {
        health.down = { since: 1005, reason: 'connection refused', wellAt: null }
        health.markHealthy()
      },
      { isFailing: false, failingSince: 1001 },
    ],
    [
      'neither an ejection nor its end by an operator does',
      (health) => {
        health.consecutiveFailures = 0 // as an ejection leaves it
        health.uneject()
      },
      { isFailing: true, failingSince: 1001 },
    ],
  ])('%s', (_, act, expected) => {
    const health = failed(9)

    act(health)

    expect(health).toMatchObject(expected)
  })

  describe('what probes find down after they found it well', () => {
    const down = { since: 2000, reason: 'connection refused', wellAt: Number.POSITIVE_INFINITY }

    test.each([
      ['is not, by the few requests that failed before that', 2, down, null],
      ['is, where so many failed that probes do not show how requests fare', 5, down, 1001],
      ['is, where the last of them failed after that', 2, { ...down, wellAt: 0 }, 1001],
      ['is, where no probe has ever succeeded', 2, { ...down, wellAt: null }, 1001],
    ])('%s failing since the first of them', (_why, failures, outage, since) => {
      const health = failed(failures)

      health.markDown(outage)

      expect(health.failingSince).toBe(since)
    })
  })

  test('failures before the last good probe are no part of the outage after a step of the wall clock', () => {
    const health = failed(2)
    vi.setSystemTime(Date.now() - 7_200_000)
    vi.advanceTimersByTime(1)

    health.markDown({ since: Date.now(), reason: 'connection refused', wellAt: systemMs() })

    expect(health.failingSince).toBeNull()
  })
})
