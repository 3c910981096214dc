import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../../src/failures/errors.ts'
import { EndpointHealth } from '../../../src/upstream/health/endpoint-health.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 })
  onTestFinished(() => void vi.useRealTimers())
})

const refused = new GatewayError('connect-failed', { reason: 'refused' })

/** Makes one of which so many requests have failed, a millisecond apart, after one that went well at 1000. */
const failed = (times: number): EndpointHealth => {
  const standing = new EndpointHealth()
  standing.recordOutcome('success', 200)
  for (let n = 0; n < times; n++) {
    vi.advanceTimersByTime(1)
    standing.recordOutcome('failure', refused)
  }
  return standing
}

test('an endpoint is failing after five failures without a success, since the first of them', () => {
  expect(failed(4).isFailing).toBe(false)
  vi.setSystemTime(1000)
  expect(failed(5)).toMatchObject({ isFailing: true, succeededAt: 1000, failingSince: 1001 })
})

test('what tells nothing of the endpoint changes nothing', () => {
  const standing = failed(5)

  standing.recordOutcome('nothing', new GatewayError('client-gone'))

  expect(standing).toMatchObject({ isFailing: true, failuresInARow: 5 })
})

test('a success ends it', () => {
  const standing = failed(9)

  standing.recordOutcome('success', 200)

  expect(standing).toMatchObject({ isFailing: false, failingSince: null, failuresInARow: 0, succeededAt: 1009 })
})

test('probes that find it up again end it, and what fails after that is the same outage', () => {
  const standing = failed(9)
  standing.down = { since: 1005, reason: 'connection refused' }

  standing.markHealthy()

  expect(standing).toMatchObject({ isFailing: false, failingSince: 1001 })
})

test('neither an ejection nor its end by an operator does', () => {
  const standing = failed(9)
  standing.consecutiveFailures = 0 // as an ejection leaves it

  standing.uneject()

  expect(standing).toMatchObject({ isFailing: true, failingSince: 1001 })
})
