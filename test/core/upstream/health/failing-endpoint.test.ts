import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { systemMs } from '../../../../src/core/lib/clock.ts'
import { EndpointHealth } from '../../../../src/core/upstream/health/endpoint-health.ts'

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

test('an outcome that says nothing about the endpoint changes nothing', () => {
  const health = failed(5)

  health.recordOutcome('nothing', new GatewayError('client-gone'))

  expect(health).toMatchObject({ isFailing: true, failuresInARow: 5 })
})

test('a success ends it', () => {
  const health = failed(9)

  health.recordOutcome('success', 200)

  expect(health).toMatchObject({ isFailing: false, failingSince: null, failuresInARow: 0, succeededAt: 1009 })
})

test('probes that find it up again end it, and what fails after that is the same outage', () => {
  const health = failed(9)
  health.down = { since: 1005, reason: 'connection refused', wellAt: null }

  health.markHealthy()

  expect(health).toMatchObject({ isFailing: false, failingSince: 1001 })
})

describe('what probes find down after they found it well', () => {
  const down = { since: 2000, reason: 'connection refused', wellAt: Number.POSITIVE_INFINITY }

  test('is not failing since the few requests that failed before that', () => {
    const health = failed(2)

    health.markDown(down)

    expect(health.failingSince).toBeNull()
  })

  test.each([
    ['so many failed that probes do not show how requests fare', 5, down],
    ['the last of them failed after that', 2, { ...down, wellAt: 0 }],
    ['no probe has ever succeeded', 2, { ...down, wellAt: null }],
  ])('is, where %s', (_why, failures, outage) => {
    const health = failed(failures)

    health.markDown(outage)

    expect(health.failingSince).toBe(1001)
  })
})

test('failures before the last good probe are no part of the outage after a step of the wall clock', () => {
  const health = failed(2)
  vi.setSystemTime(Date.now() - 7_200_000)
  vi.advanceTimersByTime(1)

  health.markDown({ since: Date.now(), reason: 'connection refused', wellAt: systemMs() })

  expect(health.failingSince).toBeNull()
})

test('neither an ejection nor its end by an operator does', () => {
  const health = failed(9)
  health.consecutiveFailures = 0 // as an ejection leaves it

  health.uneject()

  expect(health).toMatchObject({ isFailing: true, failingSince: 1001 })
})
