import { expect, test } from 'vitest'
import { createRestartBackoff } from '../../../src/features/workers/worker-supervisor.ts'

test('the first exit is followed by a start at once, the next ones after a delay that doubles up to 30 s', () => {
  const nextDelayMs = createRestartBackoff()

  const delays = Array.from({ length: 12 }, () => nextDelayMs(500))

  expect(delays).toEqual([0, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
})

test('a worker that lived for a minute is followed at once', () => {
  const nextDelayMs = createRestartBackoff()
  for (let n = 0; n < 5; n++) nextDelayMs(500)

  expect([nextDelayMs(59_999), nextDelayMs(60_000), nextDelayMs(0)]).toEqual([1600, 0, 100])
})

test('delays are limited, however often a worker ends', () => {
  const nextDelayMs = createRestartBackoff()
  for (let n = 0; n < 5000; n++) nextDelayMs(0)

  expect(nextDelayMs(0)).toBe(30_000)
})
