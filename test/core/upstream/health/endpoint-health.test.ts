import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { GatewayError } from '../../../../src/core/exchange/failures/errors.ts'
import { now } from '../../../../src/core/lib/clock.ts'
import { EndpointHealth } from '../../../../src/core/upstream/health/endpoint-health.ts'

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

  test('are those of the last 10 s', () => {
    const health = new EndpointHealth()
    end(health, 503, 503, 503)
    vi.advanceTimersByTime(10_001)

    end(health, 200)

    expect(health.attemptsPerSuccessAt(now())).toBe(1)
  })

  test('are two for as long as nothing comes after a failure', () => {
    const health = new EndpointHealth()
    end(health, 503, 503, 503)

    vi.advanceTimersByTime(3_600_000)

    expect(health.attemptsPerSuccessAt(now())).toBe(2)
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
