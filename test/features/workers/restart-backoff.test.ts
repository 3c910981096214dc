import { expect, test } from 'vitest'
import { RestartBackoff } from '../../../src/features/workers/worker-supervisor.ts'

test('the first exit is followed by a start at once, the next ones after a delay that doubles up to 30 s', () => {
  const backoff = new RestartBackoff()

  const delays = Array.from({ length: 12 }, () => backoff.nextDelayMs(500))

  expect(delays).toEqual([0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
})

test('a worker that lived for a minute is followed at once', () => {
  const backoff = new RestartBackoff()
  for (let n = 0; n < 5; n++) backoff.nextDelayMs(500)

  expect([backoff.nextDelayMs(59_999), backoff.nextDelayMs(60_000), backoff.nextDelayMs(0)]).toEqual([1600, 0, 100])
})

test('delays are limited, however often a worker ends', () => {
  const backoff = new RestartBackoff()
  for (let n = 0; n < 5000; n++) backoff.nextDelayMs(0)

  expect(backoff.nextDelayMs(0)).toBe(30_000)
})
