import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { now } from '../../../src/clock.ts'
import { GatewayError } from '../../../src/failures/errors.ts'
import { EndpointHealth } from '../../../src/upstream/health/endpoint-health.ts'

beforeEach(() => vi.useFakeTimers())
afterEach(() => vi.useRealTimers())

/** Ends requests of an endpoint, each with a status or a failure. */
const end = (standing: EndpointHealth, ...ends: readonly (number | GatewayError)[]): void => {
  for (const why of ends) {
    const outcome = typeof why === 'number' && why < 500 ? 'success' : 'failure'
    standing.recordOutcome(outcome, why)
    standing.recordForComparison(outcome, why, now())
  }
}

const refused = new GatewayError('connect-failed')

describe('the attempts that a success takes', () => {
  test.each<[string, readonly (number | GatewayError)[], number]>([
    ['are one before the first request', [], 1],
    ['are one when all go well', [200, 200, 304], 1],
    ['are one when all are answered with a 4xx', [404, 401, 404], 1],
    ['are n + 1 when n failed, by a status or a failure', [503, refused, 500], 4],
    ['are two when one of two attempts goes well, but for one more', [503, 200, 503, 200, 503, 200], 7 / 4],
  ])('%s', (_, ends, attempts) => {
    const standing = new EndpointHealth()

    end(standing, ...ends)

    expect(standing.attemptsPerSuccessAt(now())).toBe(attempts)
  })

  test('are those of the last 10 s', () => {
    const standing = new EndpointHealth()
    end(standing, 503, 503, 503)
    vi.advanceTimersByTime(10_001)

    end(standing, 200)

    expect(standing.attemptsPerSuccessAt(now())).toBe(1)
  })

  test('are two for as long as nothing comes after a failure', () => {
    const standing = new EndpointHealth()
    end(standing, 503, 503, 503)

    vi.advanceTimersByTime(3_600_000)

    expect(standing.attemptsPerSuccessAt(now())).toBe(2)
  })

  test('are two when nothing came back for 10 s though a request waits', () => {
    const standing = new EndpointHealth()
    vi.advanceTimersByTime(60_000)
    standing.latency.requestSent(now())
    const before = standing.attemptsPerSuccessAt(now() + 9_999)

    vi.advanceTimersByTime(10_000)

    expect([before, standing.attemptsPerSuccessAt(now())]).toEqual([1, 2])
  })

  test('are one for an endpoint that comes back from an ejection, whatever was sent to it meanwhile', () => {
    const standing = new EndpointHealth()
    standing.ejection = { since: 0, reason: 'x', startedAt: now(), until: now() + 5_000 }

    standing.recordForComparison('failure', 503, now())

    expect(standing.attemptsPerSuccessAt(now())).toBe(1)
  })
})

test('answers of the last five minutes are counted, with those of 400 to 499 among them', () => {
  const standing = new EndpointHealth()
  end(standing, 399, 400, 404, 499, 500, 200, refused)
  standing.recordForComparison('nothing', new GatewayError('client-gone'), now())

  const [requests, clientErrors] = [standing.responses.requests(now()), standing.responses.failures(now())]
  vi.advanceTimersByTime(300_001)

  expect([requests, clientErrors]).toEqual([7, 3])
  expect(standing.responses.requests(now())).toBe(0)
})
