import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { GatewayError } from '../../src/failures/errors.ts'
import { Standing } from '../../src/upstream/standing.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 1000 })
  onTestFinished(() => void vi.useRealTimers())
})

const refused = new GatewayError('connect-failed', { reason: 'refused' })

/** Makes one of which so many requests have failed, a millisecond apart, after one that went well at 1000. */
const failed = (times: number): Standing => {
  const standing = new Standing()
  standing.count('success', 200)
  for (let n = 0; n < times; n++) {
    vi.advanceTimersByTime(1)
    standing.count('failure', refused)
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

  standing.count('nothing', new GatewayError('client-gone'))

  expect(standing).toMatchObject({ isFailing: true, failuresInARow: 5 })
})

test('a success ends it', () => {
  const standing = failed(9)

  standing.count('success', 200)

  expect(standing).toMatchObject({ isFailing: false, failingSince: null, failuresInARow: 0, succeededAt: 1009 })
})

test('probes that find it up again end it, and what fails after that is the same outage', () => {
  const standing = failed(9)
  standing.down = { since: 1005, reason: 'connection refused' }

  standing.cameUp()

  expect(standing).toMatchObject({ isFailing: false, failingSince: 1001 })
})

test('neither an ejection nor its end by an operator does', () => {
  const standing = failed(9)
  standing.consecutiveFailures = 0 // as an ejection leaves it

  standing.lift()

  expect(standing).toMatchObject({ isFailing: true, failingSince: 1001 })
})
